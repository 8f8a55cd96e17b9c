"""What is kept beside rows for pictures: its names, and what a sample of attention shows."""

CURVES = "curves"  # fills of a few test windows
ATTENTION = "attention"  # one window's attention, head by head
PLACES = (
    "clean",
    "peaks",
    "off peaks",
    "high variance",
    "low variance",
)  # where a variable's cells are hidden
TOP, MAPS = 20, 10  # heads that are shown, and of which the maps are shown
