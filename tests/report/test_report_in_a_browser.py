"""The page in headless Chromium: equations and figures are drawn, and no request leaves the machine."""

import json
import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium drives the browser")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture
def page(default_report):
    return (default_report.out / "index.html").as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    started = webdriver.Chrome(service=webdriver.ChromeService(driver), options=options)
    yield started
    started.quit()


def _requests(browser):
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def test_everything_is_drawn_and_nothing_leaves_the_machine(browser, page):
    browser.set_window_size(1300, 1200)
    browser.get("about:blank")
    _requests(browser)  # those of the browser's own start page
    browser.get(page)
    browser.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('math')].map(m => {"
        "const b = m.getBoundingClientRect(); return [b.width, b.height]})"
    )
    assert len(boxes) > 100
    assert all(width > 2 and height > 2 for width, height in boxes)
    pictures = browser.execute_script(
        "return [...document.images].map(i => [i.complete, i.naturalWidth, i.getBoundingClientRect().width])"
    )
    # three a subject, two for the positions of a mask, eight of tokens, three of energies, two of noise
    assert len(pictures) == 3 * 7 + 2 + 8 + 3 + 2
    assert all(complete and natural > 0 and shown > 100 for complete, natural, shown in pictures)
    urls = _requests(browser)
    assert page in urls
    assert all(url.startswith(("file:", "data:")) for url in urls), urls
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.parametrize("width", [420, 900, 1600])
def test_no_sideways_scrolling_at_any_width(browser, page, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    browser.get(page)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_dark_mode_changes_paper_and_ink(browser, page):
    seen = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get(page)
        seen.append(
            browser.execute_script(
                "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
            )
        )
    (light, dark_ink), (dark, light_ink) = seen
    assert light != dark
    assert dark_ink != light_ink
