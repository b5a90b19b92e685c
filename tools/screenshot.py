"""Take a picture of a live page: starts the server, waits until the page has settled, saves a PNG.

python tools/screenshot.py /ch1/perceptron --width 360 --dark -o page.png
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "browser"))
from harness import browser, ready, serving


def main() -> int:
    """Take one picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", help="the path, such as /ch1/perceptron")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=0, help="of the picture; the whole page by default")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--wait", type=float, default=1.5, help="seconds without change that end the waiting")
    parser.add_argument("-o", "--output", default="page.png")
    given = parser.parse_args()
    with serving() as address, browser(given.width, given.height or 900, dark=given.dark) as driver:
        driver.get(address + given.page)
        seconds = ready(driver, settle=given.wait)
        if not given.height:
            tall = driver.execute_script("return Math.ceil(document.documentElement.scrollHeight)")
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": given.width, "height": min(tall, 16000), "deviceScaleFactor": 1, "mobile": False},
            )
        driver.save_screenshot(given.output)
        errors = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    print(f"{given.output}: ready after {seconds:.1f} s", *errors, sep="\n")
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
