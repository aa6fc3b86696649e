"""The page in a real Chromium: add, drag, forget, slide, flip, by mouse and by keys."""

from __future__ import annotations

import base64
import re
import time

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.playground.browsing import CHROMIUM, DRIVER, browser, resize, served, settle

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs Debian's chromium and chromium-driver",
)


@pytest.fixture(scope="module")
def window():
    with served() as (address, _), browser() as driver:
        driver.address = address
        yield driver


@pytest.fixture
def page(window):
    """A fresh page with two moons; afterwards the console must be clean."""
    resize(window, 1280, 860)
    window.get(window.address)
    settle(window)
    window.get_log("browser")
    yield window
    said = [line["message"] for line in window.get_log("browser")]
    # `coloured` reads pixels, of which Chromium has an opinion
    assert [line for line in said if "getImageData" not in line] == []


def value(page, script):
    return page.execute_script(f"return {script}")


def find(page, name):
    return page.find_element(By.ID, name)


def at(page, x, y):
    """Return the pointer actions that begin at a place of the plane."""
    canvas = find(page, "first")
    side = canvas.size["width"]
    across, down = round(x * side / 2), round(-y * side / 2)
    return ActionChains(page, duration=20).move_to_element_with_offset(
        canvas, across, down
    )


def badge(page):
    settle(page)
    return find(page, "badge").text


def count(page):
    settle(page)
    shown = int(find(page, "fact-count").text)
    assert shown == value(page, "state.points.size")
    return shown


def coloured(page, x, y):
    """Return red minus blue of the picture at a place: positive is orange."""
    return value(
        page,
        f"""(() => {{ const c = element("first");
        const d = c.getContext("2d").getImageData(
          Math.round(({x} + 1) / 2 * (c.width - 1)),
          Math.round((1 - {y}) / 2 * (c.height - 1)), 1, 1).data;
        return d[0] - d[2]; }})()""",
    )


def test_a_click_adds_and_the_badge_compares(page):
    before = count(page)
    at(page, 0.8, 0.8).click().perform()
    assert count(page) == before + 1
    ways = r"update( \(a refit\))? [\d.]+ ms · retrain [\d.]+ ms"
    assert re.fullmatch(rf"equals a full retrain to 1e-1\d · {ways}", badge(page))
    assert float(find(page, "badge").get_attribute("data-difference")) < 1e-10


def test_the_badge_shows_whichever_took_longer(page):
    said = []
    for refitted, update, retrain in ((False, 6e-4, 4e-3), (True, 4e-3, 2.5e-3)):
        found = {"difference": 3e-13, "action": "update", "refitted": refitted}
        found |= {"update": update, "seconds": retrain}
        page.execute_script("showBadge(arguments[0])", found)
        said.append(find(page, "badge").text.partition(" · ")[2])
    assert said == [
        "update 0.6 ms · retrain 4 ms",
        "update (a refit) 4 ms · retrain 2.5 ms",
    ]


def test_a_fit_is_not_called_an_update(page):
    assert re.match(r"trained from scratch in [\d.]+ ms", badge(page))
    find(page, "width").send_keys(Keys.ARROW_RIGHT)  # there is no path along gamma
    assert badge(page).startswith("trained from scratch")


def test_a_drag_moves_the_point_and_the_boundary(page):
    page.execute_script('begin("empty")')
    settle_empty(page)
    at(page, -0.5, 0.0).click().perform()
    page.execute_script("chooseTool('add', -1)")
    at(page, 0.5, 0.0).click().perform()
    assert count(page) == 2
    assert coloured(page, -0.8, 0.0) > 20
    assert coloured(page, 0.8, 0.0) < -20
    canvas = find(page, "first")
    side = canvas.size["width"]
    drag = at(page, -0.5, 0.0).click_and_hold()
    for x, y in ((-0.3, 0.2), (0.2, 0.5), (0.6, 0.7)):
        across, down = round(x * side / 2), round(-y * side / 2)
        drag = drag.move_to_element_with_offset(canvas, across, down)
    drag.release().perform()
    assert count(page) == 2
    moved = value(page, "[state.points.get(0).x, state.points.get(0).y]")
    assert moved == pytest.approx([0.6, 0.7], abs=0.02)
    assert coloured(page, 0.6, 0.9) > 20
    assert "equals a full retrain" in badge(page)


def settle_empty(page):
    for _ in range(200):
        if value(page, "state.points.size") == 0 and not value(page, "link.busy"):
            return
        time.sleep(0.02)
    pytest.fail("the page is not empty")


def test_a_right_click_forgets(page):
    before = count(page)
    x, y = value(page, "[...state.points.values()].map((p) => [p.x, p.y])[0]")
    at(page, x, y).context_click().perform()
    assert count(page) == before - 1
    assert "equals a full retrain" in badge(page)
    at(page, 0.95, 0.95).context_click().perform()  # nothing there
    assert count(page) == before - 1


def test_the_slider_moves_along_the_path_with_leave_one_out_beneath(page):
    support = int(find(page, "fact-support").text)
    slider = find(page, "price")
    slider.send_keys(*[Keys.ARROW_RIGHT] * 40)
    settle(page)
    assert value(page, "state.settings.C") > 5
    assert find(page, "price-value").text == "6.3"
    assert int(find(page, "fact-support").text) < support
    assert "update" in badge(page)
    for _ in range(3000):
        if value(page, "curve.errors.size") >= 4:
            break
        time.sleep(0.02)
    errors = value(page, "[...curve.errors.values()]")
    assert len(errors) >= 4
    assert all(0 <= error <= 1 for error in errors)
    assert min(errors) < 0.2


def test_the_brush_flips_labels_and_suspects_are_ringed(page):
    find(page, "ramp").click()
    page.find_element(By.CSS_SELECTOR, "[data-tool=flip]").click()
    before = value(page, "[...state.points.values()].filter((p) => p.label > 0).length")
    place = value(
        page,
        "(() => { const p = [...state.points.values()][1]; return [p.x, p.y]; })()",
    )
    at(page, *place).click_and_hold().move_by_offset(20, 5).release().perform()
    settle(page)
    after = value(page, "[...state.points.values()].filter((p) => p.label > 0).length")
    assert after != before
    assert "equals a full retrain" in badge(page)
    for _ in range(3000):
        if value(page, "state.ramp !== null && state.ramp.version === state.version"):
            break
        time.sleep(0.02)
    assert value(page, "state.ramp.suspects.size") >= 1
    assert "ringed" in find(page, "second-note").text
    assert find(page, "second").is_displayed()


def test_the_keyboard_does_all_of_it(page):
    before = count(page)
    canvas = find(page, "first")
    canvas.send_keys(*[Keys.SHIFT + Keys.ARROW_UP] * 8, "1", Keys.ENTER)
    assert count(page) == before + 1
    added = "state.points.get(state.next - 1)"
    assert value(page, f"{added}.label") == -1
    canvas.send_keys("f")
    settle(page)
    assert value(page, f"{added}.label") == 1
    canvas.send_keys("m", *[Keys.ARROW_RIGHT] * 4, "m")
    settle(page)
    assert value(page, f"{added}.x") == pytest.approx(value(page, "state.cursor.x"))
    canvas.send_keys(Keys.DELETE)
    assert count(page) == before
    dial = find(page, "dial")
    dial.send_keys(*[Keys.ARROW_UP] * 6)
    settle(page)
    assert float(dial.get_attribute("aria-valuenow")) == pytest.approx(2.0, abs=0.01)
    assert find(page, "first-name").text == "CostSensitiveSVC"
    assert "equals a full retrain" in badge(page)


def test_the_dial_turns_with_the_mouse(page):
    dial = find(page, "dial")
    radius = dial.size["width"] / 3
    turn = ActionChains(page, duration=20).move_to_element(dial)
    turn.move_by_offset(0, -radius).click_and_hold()
    turn.move_by_offset(radius, radius).release().perform()  # a quarter to the right
    assert "equals a full retrain" in badge(page)
    cost = float(dial.get_attribute("aria-valuenow"))
    assert cost == pytest.approx(10 ** (2 / 3), rel=0.05)
    assert value(page, "state.settings.cost") == cost
    assert find(page, "first-name").text == "CostSensitiveSVC"


def test_regression_with_a_band(page):
    find(page, "tab-regress").click()
    for _ in range(200):
        if value(page, "state.regression"):
            break
        time.sleep(0.02)
    settle(page)
    for name in ("dial", "class-keys"):  # there are no classes
        assert not find(page, name).is_displayed()
    inside = find(page, "fact-fit").text
    find(page, "band").send_keys(*[Keys.ARROW_LEFT] * 15)
    settle(page)
    assert float(find(page, "fact-fit").text.split()[0]) < float(inside.split()[0]) - 10
    before = count(page)
    at(page, 0.0, 0.95).click().perform()
    assert count(page) == before + 1
    assert "equals a full retrain" in badge(page)
    at(page, 0.0, 0.95).context_click().perform()
    assert count(page) == before


def test_python_and_png(page):
    find(page, "python").click()
    for _ in range(200):
        code = page.find_element(By.CSS_SELECTOR, "#code textarea")
        if code.get_attribute("value"):
            break
        time.sleep(0.02)
    names: dict[str, object] = {"print": lambda *_: None}
    exec(code.get_attribute("value"), names)
    assert names["model"].n_support_.sum() == int(find(page, "fact-support").text)
    page.find_element(By.CSS_SELECTOR, "#code button").click()
    saved = page.execute_async_script(
        """const done = arguments[0];
        HTMLAnchorElement.prototype.click = function () {
          fetch(this.href).catch(() => done(null));
          const reader = new FileReader();
          reader.onload = () => done([this.download, reader.result]);
          reader.readAsDataURL(window.saved);
        };
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { window.saved = blob; return "#"; };
        savePicture();"""
    )
    assert saved[0] == "widemargin.png"
    assert base64.b64decode(saved[1].split(",")[1]).startswith(b"\x89PNG")


def test_hostile_messages_get_an_error_and_the_page_goes_on(page):
    before = count(page)
    for message in (
        "{ op: 'add', points: Array.from({ length: 10000 }, (_, i) =>"
        " ({ id: 3000 + i, x: 0, y: 0, label: 1 })) }",
        "{ op: 'move', id: 1, x: NaN, y: 0 }",
        "{ op: 'forget', ids: [987654] }",
        "{ op: 'x'.repeat(300000) }",
    ):
        page.execute_script(f"change({message})")
        settle(page)
        assert find(page, "toast").text
        assert count(page) == before
    token = value(page, "SETTINGS.token")
    page.execute_script("SETTINGS.token = 'wrong'; addPoint({ x: 0.9, y: 0.9 })")
    for _ in range(1000):  # refused, and the look at what stands is refused, too
        if not value(page, "link.busy"):
            break
        time.sleep(0.02)
    assert "token" in find(page, "toast").text
    page.execute_async_script(
        """const [token, done] = arguments;
        SETTINGS.token = token;
        ask("look").then((picture) => { receive(picture); later(); done(); });""",
        token,
    )
    settle(page)
    at(page, 0.8, 0.8).click().perform()
    assert count(page) == before + 1
    # a refused request is all that the console says
    said = [line["message"] for line in page.get_log("browser")]
    assert all("status of 40" in line for line in said)


@pytest.mark.parametrize("width", [400, 1280])
def test_it_fits_the_window(page, width):
    resize(page, width, 800)
    settle(page)
    assert value(page, "document.documentElement.scrollWidth") <= width
    for name in ("first", "price", "dial", "python", "badge"):
        box = find(page, name).rect
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    sizes = value(
        page,
        "[...document.querySelectorAll('button, label, p, dd, dt, h2')].filter("
        "(e) => e.offsetParent).map((e) => parseFloat(getComputedStyle(e).fontSize))",
    )
    assert min(sizes) >= 12
    assert value(page, "element('first').clientWidth") >= 300
