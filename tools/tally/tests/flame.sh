#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The flame graph in a browser: frames, zoom and search work.
. "$(dirname "$0")/lib/ktap.sh"

folded_sum() {
	"$TALLY" export -f folded "$work/made" | awk '{ sum += $NF } END { print sum }'
}

# Shows the page in a browser without a window; prints what is in the element "log" at the end.
browse() {
	chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files \
		--user-data-dir="$work/chromium" --virtual-time-budget=5000 --dump-dom \
		"file://$work/page.html" 2>"$work/errors" |
		sed -n '/<pre id="log">/,/<\/pre>/p' | sed 's/<[^>]*>//g'
}

page() {
	cat <<'END'
<!DOCTYPE html>
<iframe id="f" src="graph.svg" width="1300" height="900"></iframe>
<pre id="log"></pre>
<script>
const log = (text) => { document.getElementById('log').textContent += text + '\n'; };
document.getElementById('f').addEventListener('load', () => {
	const view = document.getElementById('f').contentWindow;
	const svg = view.document;
	const frames = Array.from(svg.querySelectorAll('.f'));
	const shown = () => frames.filter((g) => !g.classList.contains('h')).length;
	const width = (g) => +g.querySelector('rect').getAttribute('width');
	const click = (element) => element.dispatchEvent(new view.MouseEvent('click', {bubbles: true}));
	const middle = frames.find((g) => +g.dataset.w < 0.9);
	log('frames ' + (frames.length > 3 ? 'yes' : 'no'));
	log('root ' + width(frames[0]).toFixed(0));
	log('text ' + (frames[0].querySelector('text').textContent === 'all' ? 'yes' : 'no'));
	const all = shown(), narrow = width(middle);
	click(middle);
	log('zoomed ' + width(middle).toFixed(0) + ' ' + (width(middle) > narrow ? 'wider' : 'same') +
	    ' ' + (shown() < all ? 'fewer' : 'as many'));
	log('path kept ' + (frames[0].classList.contains('s') && width(frames[0]) === width(middle)));
	click(svg.getElementById('reset'));
	log('reset ' + (shown() === all && width(middle).toFixed(3) === narrow.toFixed(3)));
	view.prompt = () => '^busy_';
	click(svg.getElementById('search'));
	log('found ' + svg.querySelectorAll('.m').length + ' ' + svg.getElementById('matched').textContent);
	click(svg.getElementById('search'));
	log('cleared ' + svg.querySelectorAll('.m').length);
	frames[1].dispatchEvent(new view.MouseEvent('mouseover', {bubbles: true}));
	log('detail ' + /samples/.test(svg.getElementById('detail').textContent));
});
</script>
END
}

log_has() {
	grep -q "$1" "$work/log" || { cat "$work/log"; tail -5 "$work/errors"; return 1; }
}

start
if ! "$O/tests/flame_file" "$work/made" 2>"$work/errors"; then
	note <"$work/errors"
	skip "flame graph" "no file could be made"
	finish
fi
result "folded stacks have the weight of all samples" [ "$(folded_sum)" = 1000 ]
result "a graph is drawn" "$TALLY" flame -o "$work/graph.svg" "$work/made"
result "an icicle of the branches is drawn" "$TALLY" flame -b -o "$work/branches.svg" "$work/made"
result "it has frames" grep -q 'busy_inner' "$work/branches.svg"
result "the graph is well-formed XML" python3 -c \
	"import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])" "$work/graph.svg"
if ! command -v chromium >/dev/null; then
	skip "the graph in a browser" "no chromium"
	finish
fi
page >"$work/page.html"
browse >"$work/log"
result "its frames are shown" log_has '^frames yes'
result "the root has the whole width and its name" log_has '^root 1180'
result "a click zooms a frame to the whole width" log_has '^zoomed 1180 wider fewer'
result "the callers of a zoomed frame stay visible" log_has '^path kept true'
result "the zoom is undone" log_has '^reset true'
result "a search marks its frames and sums them up" log_has '^found 2 Matched: 75.00%'
result "a search is undone" log_has '^cleared 0'
result "a frame shows its samples" log_has '^detail true'
finish
