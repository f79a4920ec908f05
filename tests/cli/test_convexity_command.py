"""A user's own energy in a spec file: verdict, certificate and page from the command line."""

from symflow.certify import Certificate

SPEC = """
[energy]
density = "exp(dot(x, A*y))"
potential = "c*norm2(x)"
metric = "wasserstein"
[parameters]
A = [[1, "1/3"], ["1/3", -2]]
c = "1/10"
"""


def test_an_energy_in_a_spec_file_gets_verdict_certificate_and_page(tmp_path, symflow_command):
    (tmp_path / "own.toml").write_text(SPEC)
    stored = tmp_path / "c.json"
    done = symflow_command(
        "check", "convexity", str(tmp_path / "own.toml"), "--certificate", str(stored), "--latex"
    )
    assert done.code == 0
    for part in ("Geodesic convexity", r"\begin{pmatrix} 1 & \tfrac{1}{3} \\ \tfrac{1}{3} & -2", "c = ",
                 r"\frac{d^2}{dt^2}F = ", "symflow replay"):  # fmt: skip
        assert part in done.stdout
    assert symflow_command("replay", str(stored)).code == 0
    assert Certificate.load(stored).statement["parameters"]["A"][0] == ["1", "1/3"]


def test_a_spec_of_a_model_stands_for_its_energy(tmp_path, symflow_command):
    (tmp_path / "model.toml").write_text(
        '[model]\nattention = "softmax"\n[parameters]\nV = [[2.0, 0.0], [0.0, 2.0]]\n'
        "Q = [[1.0, 0.0], [0.0, 1.0]]\nK = [[-1.0, 0.0], [0.0, -0.5]]\n"
    )
    done = symflow_command("check", "convexity", str(tmp_path / "model.toml"), "--json")
    assert done.json["status"] == "refuted"
    assert "A = [-1 0; 0 -1/2]" in done.json["scope"]
