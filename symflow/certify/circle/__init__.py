"""Critical points of tokens on the circle, all of them: what the replay of such a list computes.

=============  =======================================================================================
`profile`      the pair interaction as a function of the angle between two tokens, in balls
`table`        bounds of its derivatives on every arc, as whole numbers, so that sums of them are exact
`uniqueness`   a zero of the gradient: that there is one near a point, and only one in a box
`cover`        subdivision of all configurations: no zero of the gradient outside of the boxes
=============  =======================================================================================
"""
