"""The page in a real browser: whole games by clicks, reload, undo, analysis, records, a document from disk."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("starlette", reason="needs starlette: pip install audamir-envs[web]")
playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")

from audamir_envs import arena  # noqa: E402

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install -y chromium"),
]
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SECONDS = 180_000  # milliseconds that compiling may take on a busy machine
playwright.expect.set_options(timeout=SECONDS)
# Small boards, so that games are short and little is compiled: options to choose, words of the fieldset and the button.
MAP = {"neighbours": [[1, 5], [0, 2], [1, 3], [2, 4], [3, 5], [4, 0]]}
TABLES = {
    "colony-v0": {"start": "one", "max_turns": 40},
    "stigmergy-v0": {"side": 3},
    "principalities-v0": {"players": 2, "tiles": 6, "max_rounds": 6},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a running ``audamir serve``; at the end it must have stopped without a word on stderr."""
    folder = tmp_path_factory.mktemp("serve")
    run = folder / "c1"
    run.mkdir()
    lines = [{"kind": "train", "iteration": i, "loss": 2 / i, "positions_per_second": 100.0 + i} for i in range(1, 30)]
    lines.append({"kind": "evaluation", "iteration": 29, "opponent": "weak", "score": 0.6, "low": 0.5, "high": 0.7})
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    arena.evaluate("stigmergy-v0", ["random", "random"], games=1, max_plies=8, record=run / "last_game.jsonl")
    quick = os.environ.get("XLA_FLAGS", "") + " --xla_backend_optimization_level=0"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": quick}
    log = folder / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "audamir_envs", "serve", "--port", "0", str(run)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        )
        address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())[0]
        yield address
        process.send_signal(signal.SIGINT)
        process.wait(20)
        process.stdout.close()
    assert "Traceback" not in log.read_text()


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A page of a fresh browser; it must have logged no error."""
    context = chromium.new_context(accept_downloads=True)
    page = context.new_page()
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_default_timeout(SECONDS)
    yield page
    context.close()
    assert errors == []


def part(page, name):
    return page.get_by_role("region", name=name, exact=True).or_(page.locator(f'section[aria-label="{name}"]')).first


def open_page(page, server):
    page.goto(server)
    page.locator("body[data-ready]").wait_for()
    page.get_by_role("button", name="Play", exact=True).click()


def start(page, env_id, options, players):
    page.locator(f'input[value="{env_id}"]').check()
    for name, value in options.items():
        box = page.get_by_role("group", name=name, exact=True)
        button = box.locator(f'input[type=radio][value="{value}"]')
        if button.count():
            button.check()
        else:
            box.get_by_role("spinbutton").fill(str(value))
    seats = page.get_by_role("group", name="Seats", exact=True).locator("select")
    playwright.expect(seats).to_have_count(len(players))
    for seat, player in enumerate(players):
        seats.nth(seat).select_option(player)
    page.locator("summary", has_text="Position and seed").click()
    page.get_by_label("Seed of start and dice").fill("4")
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator("svg.board .scene > *").first.wait_for()


def play_part(page):
    return page.locator('section[aria-label="Play"]')


def said(page):
    return play_part(page).locator('.left .note[role="status"]')


def plies(page):
    return play_part(page).locator(".moves li").count()


def wait_for_turn(page):
    """Until a person is to move or the game is over; returns whether it is over."""
    playwright.expect(said(page)).to_have_text(re.compile("your turn|game is over"), timeout=SECONDS)
    return "over" in said(page).inner_text()


def click_a_move(page, rng):
    """A move by the mouse: a place, or a piece and a ringed place, or a button beside the board."""
    board = play_part(page)
    before = plies(page)
    labels = board.locator(".place.used").evaluate_all("all => all.map((one) => one.dataset.place)")
    others = board.locator("button.other")
    rng.shuffle(labels)
    for label in labels if not others.count() or rng.random() < 0.8 else []:
        place = board.locator(f'[data-place="{label}"]')
        place.click()
        rings = board.locator("[data-ring]").evaluate_all("all => all.map((one) => one.dataset.ring)")
        if rings:
            board.locator(f'[data-place="{rng.choice(rings)}"]').click()
            break
        if board.locator(".note.busy").count() or plies(page) > before:
            break
        # A tile of the enemy, say, that is only a target: nothing was chosen.
        if not board.locator('.left .note:has-text("Nothing can be done")').count():
            break
    else:
        others.nth(rng.randrange(others.count())).click()
    playwright.expect(board.locator(".moves li").nth(before)).to_be_attached(timeout=SECONDS)


@pytest.mark.parametrize("env_id", TABLES)
def test_a_whole_game_by_clicks_against_weak(page, server, env_id):
    rng = random.Random(2)
    open_page(page, server)
    start(page, env_id, TABLES[env_id], ["person", "weak"])
    for turn in range(300):
        if wait_for_turn(page):
            break
        click_a_move(page, rng)
        if turn == 2:
            wait_for_turn(page)
            check_reload_and_undo(page, server)
    assert re.search("wins|draw", said(page).inner_text())
    # Every position can be stepped to, and the last one says that it is over.
    count = plies(page)
    page.keyboard.press("Home")
    playwright.expect(play_part(page).locator(".status").first).to_contain_text("Start.")
    page.keyboard.press("End")
    playwright.expect(play_part(page).locator(".status").first).to_contain_text(f"Ply {count}:")


def check_reload_and_undo(page, server):
    moves = play_part(page).locator(".moves li button").all_inner_texts()
    drawn = play_part(page).locator("svg.board .scene").inner_html()
    page.reload()
    page.locator("body[data-ready]").wait_for()
    page.get_by_role("button", name="Play", exact=True).click()
    assert play_part(page).locator(".moves li button").all_inner_texts() == moves
    assert play_part(page).locator("svg.board .scene").inner_html() == drawn
    if wait_for_turn(page):
        return
    page.get_by_role("button", name="Undo").click()
    playwright.expect(play_part(page).locator(f".moves li:nth-child({len(moves)})")).to_have_count(0)
    wait_for_turn(page)
    left = play_part(page).locator(".moves li button").all_inner_texts()
    assert len(left) < len(moves)
    assert left == moves[: len(left)]


def test_by_keyboard_and_by_notation(page, server):
    open_page(page, server)
    start(page, "colony-v0", {"start": "one"}, ["person", "person"])
    wait_for_turn(page)
    board = play_part(page)
    board.locator('[data-place="e8"]').focus()  # Tab leads to one place, the arrows to all others
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.dataset.place") == "e9"
    page.keyboard.press("Enter")
    playwright.expect(board.locator("[data-ring]")).to_have_count(8)
    page.keyboard.press("Escape")
    playwright.expect(board.locator("[data-ring]")).to_have_count(0)
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    playwright.expect(board.locator(".moves li button")).to_have_text(["e8"])
    # The board keeps the focus: the other side can go on from where this one was.
    playwright.expect(board.locator('[data-place="e8"]')).to_be_focused()
    page.get_by_label("Move in the game's notation").fill("e1-e3")
    page.keyboard.press("Enter")
    playwright.expect(board.locator(".moves li button")).to_have_text(["e8", "e1-e3"])
    page.get_by_label("Move in the game's notation").fill("e5")
    page.keyboard.press("Enter")
    playwright.expect(said(page)).to_have_text("e5 is not legal now.")


def test_restart_asks_and_a_level_finishes(page, server):
    open_page(page, server)
    start(page, "stigmergy-v0", {"side": 3}, ["person", "weak"])
    wait_for_turn(page)
    click_a_move(page, random.Random(0))
    wait_for_turn(page)
    page.get_by_role("button", name="Restart…").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert plies(page) == 2
    page.get_by_role("button", name="Restart…").click()
    page.get_by_role("dialog").get_by_role("button", name="Restart", exact=True).click()
    playwright.expect(play_part(page).locator(".moves li")).to_have_count(0)
    page.get_by_role("button", name="Let a level finish…").click()
    page.get_by_role("dialog").get_by_label("It plays on for you:").select_option("random")
    page.get_by_role("dialog").get_by_role("button", name="Let it finish").click()
    playwright.expect(said(page)).to_have_text(re.compile("game is over"), timeout=SECONDS)
    page.locator("summary", has_text="Position as text").click()
    field = page.get_by_label("Position as text", exact=True)
    playwright.expect(field).to_have_value(re.compile(r"\S"))  # it is filled when it has opened
    text = field.input_value()
    assert len(text.split()) == 5


def test_analysis_is_shown_and_goes_into_the_record(page, server, tmp_path):
    open_page(page, server)
    start(page, "stigmergy-v0", {"side": 3, "komi": 4}, ["person", "weak"])
    rng = random.Random(1)
    for _ in range(3):
        wait_for_turn(page)
        click_a_move(page, rng)
    wait_for_turn(page)
    panel = play_part(page).locator('section[aria-label="Analysis"]')
    panel.locator("select").select_option("zero-policy")
    panel.get_by_role("button", name="Whole game").click()
    playwright.expect(panel.locator("svg.chart")).to_be_visible(timeout=SECONDS)
    playwright.expect(panel.get_by_role("button", name="Stop")).to_be_hidden(timeout=SECONDS)
    playwright.expect(panel.locator("tbody tr").first).to_be_visible()
    assert play_part(page).locator("svg.board .shade .share").count() > 0
    # The graph can be clicked: its left end is the first position.
    box = panel.locator("svg.chart").bounding_box()
    page.mouse.click(box["x"] + 41 / 420 * box["width"], box["y"] + box["height"] / 2)
    playwright.expect(play_part(page).locator(".status").first).to_contain_text("Start.")
    shares = play_part(page).locator("svg.board .shade .share").all_text_contents()
    assert all(0.1 <= float(share) <= 100 for share in shares)
    panel.get_by_role("checkbox", name="policy").uncheck()
    playwright.expect(play_part(page).locator("svg.board .shade .share")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save record").click()
    path = tmp_path / "game.jsonl"
    download.value.save_as(path)
    check_record(page, path)
    check_document(page, path, tmp_path / "game.html")


def check_record(page, path):
    """Opens the record, steps through it, quickly, and goes on from a position."""
    page.get_by_role("button", name="Records", exact=True).click()
    page.get_by_label("Open a file").set_input_files(path)
    records = page.locator('section[aria-label="Records"]')
    playwright.expect(records.locator(".moves li")).to_have_count(6)
    playwright.expect(records.locator(".status").first).to_contain_text("Start.")
    playwright.expect(records.locator("svg.chart")).to_be_visible()
    began = time.perf_counter()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
    assert time.perf_counter() - began < 12 * 0.2  # Playwright's own share among it
    seen, median = page.evaluate(STEPS)
    assert seen == ["Ply 5:", "Ply 6:"]
    print(f"a step takes {median:.1f} ms")
    assert median < 50
    playwright.expect(records.locator(".status").first).to_contain_text("Ply 6:")
    page.keyboard.press("ArrowLeft")
    playwright.expect(records.locator(".status").first).to_contain_text("Ply 5:")
    records.get_by_role("button", name="Play on from here").click()
    playwright.expect(play_part(page).locator(".moves li").nth(4)).to_be_attached()


def check_document(page, path, document):
    """``audamir view``: the same from disk, with nothing else loaded."""
    from audamir_envs.cli import main

    assert main(["view", str(path), "-o", str(document)]) == 0
    loaded = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(document.as_uri())
    playwright.expect(page.locator(".moves li")).to_have_count(6)
    page.keyboard.press("End")
    playwright.expect(page.locator(".status")).to_contain_text("Ply 6:")
    page.keyboard.press("ArrowLeft")
    playwright.expect(page.locator("svg.chart")).to_be_visible()
    playwright.expect(page.locator("tbody tr").first).to_be_visible()
    assert [url for url in loaded if not url.startswith(("file:", "data:"))] == []


def test_a_run_is_shown(page, server):
    page.goto(server)
    page.locator("body[data-ready]").wait_for()
    page.get_by_role("button", name="Training").click()
    training = page.locator('section[aria-label="Training"]')
    playwright.expect(training.locator("svg.chart")).to_have_count(3)
    playwright.expect(training.locator(".note")).to_contain_text("positions per second: 129")
    training.get_by_role("button", name="Look at its last self-play game").click()
    playwright.expect(page.locator('section[aria-label="Records"] .note').first).to_contain_text("game of c1")
    playwright.expect(page.locator('section[aria-label="Records"] svg').first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_control_has_a_label_and_texts_can_be_read(page, server, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server)
    assert page.evaluate(UNLABELLED) == []
    start(page, "stigmergy-v0", {"side": 3}, ["person", "weak"])
    wait_for_turn(page)
    assert page.evaluate(UNLABELLED) == []
    # Nothing is wider than a phone's screen.
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert page.evaluate(CONTRASTS) == []


# Steps back and forth by key: what was seen, and the median milliseconds until a step is drawn.
STEPS = """() => {
  const status = document.querySelector('section[aria-label="Records"] .status');
  const seen = new Set(), times = [];
  for (let i = 0; i < 21; i++) {
    const begun = performance.now();
    const key = i % 2 ? "ArrowRight" : "ArrowLeft";
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    document.body.getBoundingClientRect();
    times.push(performance.now() - begun);
    seen.add(status.textContent.slice(0, 6));
  }
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  return [[...seen].sort(), times.sort((a, b) => a - b)[10]];
}"""

UNLABELLED = """() => [...document.querySelectorAll("button, input, select, textarea, [role=button]")]
  .filter((one) => one.checkVisibility())
  .filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.labels?.length))
  .map((one) => one.outerHTML)"""

# Texts outside the board whose contrast with what is behind them is below 4.5.
CONTRASTS = """() => {
  const light = (text) => {
    const linear = (c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = text.match(/[\\d.]+/g).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const bad = [];
  for (const one of document.querySelectorAll("body *:not(svg, svg *)")) {
    const worded = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!one.checkVisibility() || one.disabled || !worded) continue;
    const [a, b] = [light(getComputedStyle(one).color), light(behind(one))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) bad.push([one.outerHTML.slice(0, 100), contrast]);
  }
  return bad;
}"""


def test_what_is_no_request_is_refused(server):
    """Bytes that are no HTTP, or half of it: the server goes on answering."""
    import socket
    import urllib.request

    port = int(server.rpartition(":")[2])
    rng = random.Random(0)
    good = b"POST /api/about HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 2\r\n\r\n{}" % port
    for _ in range(200):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(bytes(data[: rng.randrange(1, len(data))]))
    with urllib.request.urlopen(server, timeout=10) as answer:
        assert answer.status == 200
