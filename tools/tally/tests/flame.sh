#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The flame graph in a browser: frames, zoom and search work.
. "$(dirname "$0")/lib/ktap.sh"

folded_sum() {
	"$TALLY" export -f folded "$work/made" | awk '{ sum += $NF } END { print sum }'
}

# Shows the page in a browser without a window; prints what is in the element "log" at the end.
browse() {
	timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--allow-file-access-from-files --user-data-dir="$work/chromium" \
		--virtual-time-budget=5000 --dump-dom "file://$work/page.html" 2>"$work/errors" |
		sed -n '/<pre id="log">/,/<\/pre>/p' | sed 's/<[^>]*>//g'
}

# The beginning of a page with a graph in a frame: the script behind it uses log().
page_start() {	# SVG
	cat <<END
<!DOCTYPE html>
<iframe id="f" src="$1" width="1300" height="900"></iframe>
<pre id="log"></pre>
<script>
const log = (text) => { document.getElementById('log').textContent += text + '\\n'; };
addEventListener('error', (event) => log('error ' + event.message));
END
}

page() {
	page_start graph.svg
	cat <<'END'
document.getElementById('f').addEventListener('load', () => {
	const view = document.getElementById('f').contentWindow;
	const svg = view.document;
	const frames = Array.from(svg.querySelectorAll('.f'));
	const shown = () => frames.filter((g) => !g.classList.contains('h')).length;
	const width = (g) => +g.querySelector('rect').getAttribute('width');
	const click = (element) => element.dispatchEvent(new view.MouseEvent('click', {bubbles: true}));
	const named = (name) => frames.find((g) =>
		g.querySelector('title').textContent.startsWith(name + ' ('));
	const middle = named('busy_outer'), inner = named('busy_inner');
	log('frames ' + (frames.length > 3 ? 'yes' : 'no'));
	log('root ' + width(frames[0]).toFixed(0));
	log('text ' + frames[0].querySelector('text').textContent + ' ' +
	    middle.querySelector('text').textContent);
	log('widths ' + width(middle).toFixed(0) + ' ' + width(inner).toFixed(0) + ' ' +
	    width(named('idle')).toFixed(0));
	log('above ' + (+inner.querySelector('rect').getAttribute('y') <
			+middle.querySelector('rect').getAttribute('y')));
	log('drawn ' + frames.every((g) => g.getBBox().width > 0 && g.getBBox().height >= 16));
	const all = shown(), narrow = width(middle);
	click(middle);
	log('zoomed ' + width(middle).toFixed(0) + ' ' + (width(middle) > narrow ? 'wider' : 'same') +
	    ' ' + (shown() < all ? 'fewer' : 'as many'));
	log('inside ' + width(inner).toFixed(0));
	log('address ' + view.location.hash);
	log('path kept ' + (frames[0].classList.contains('s') && width(frames[0]) === width(middle)));
	click(svg.getElementById('reset'));
	log('reset ' + (shown() === all && width(middle).toFixed(3) === narrow.toFixed(3)));
	view.prompt = () => '^busy_';
	click(svg.getElementById('search'));
	log('found ' + svg.querySelectorAll('.m').length + ' ' + svg.getElementById('matched').textContent);
	click(svg.getElementById('search'));
	log('cleared ' + svg.querySelectorAll('.m').length);
	view.prompt = () => '(';
	const key = new view.KeyboardEvent('keydown', {key: 'f', ctrlKey: true, cancelable: true});
	view.dispatchEvent(key);
	log('key ' + key.defaultPrevented);
	log('expression ' + /[Ii]nvalid regular/.test(svg.getElementById('matched').textContent));
	view.prompt = () => 'idle';
	view.dispatchEvent(new view.KeyboardEvent('keydown', {key: 'F3'}));
	log('key found ' + svg.querySelectorAll('.m').length + ' ' +
	    svg.getElementById('matched').textContent + ' ' + view.location.hash);
	frames[1].dispatchEvent(new view.MouseEvent('mouseover', {bubbles: true}));
	log('detail ' + /[0-9]+ samples, [0-9.]+%/.test(svg.getElementById('detail').textContent));
});
</script>
END
}

# The icicle of the branches: what led to a frame is below it.
icicle_page() {
	page_start branches.svg
	cat <<'END'
document.getElementById('f').addEventListener('load', () => {
	const view = document.getElementById('f').contentWindow;
	const frames = Array.from(view.document.querySelectorAll('.f'));
	const rect = (g, name) => +g.querySelector('rect').getAttribute(name);
	log('icicle ' + frames.map((g) => g.querySelector('text').textContent + ' ' +
		rect(g, 'width').toFixed(0) + ' ' + g.dataset.d).join(', '));
	log('below ' + frames.slice(1).every((g) => rect(g, 'y') ===
		rect(frames[0], 'y') + 17 * g.dataset.d));
	frames[1].dispatchEvent(new view.MouseEvent('click', {bubbles: true}));
	log('icicle zoomed ' + rect(frames[1], 'width').toFixed(0) + ' ' + rect(frames[2], 'width').toFixed(0));
	view.prompt = () => 'idle';
	view.document.getElementById('search').dispatchEvent(new view.MouseEvent('click', {bubbles: true}));
	log('icicle found ' + view.document.querySelectorAll('.m').length);
});
</script>
END
}

# The same graph with a zoom and a search in its address.
state_page() {
	page | sed "s/src=\"graph.svg\"/src=\"graph.svg#zoom=$1\\&amp;search=idle\"/;
		/const all = shown/i \\
	log('state ' + shown() + ' ' + svg.querySelectorAll('.m').length + ' ' + \\
	    svg.getElementById('search').textContent);"
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
result "the root has the whole width" log_has '^root 1180'
result "frames have their names" log_has '^text all busy_outer'
result "frames are as wide as their shares" log_has '^widths 885 590 295'
result "what a function calls is above it" log_has '^above true'
result "all frames are drawn" log_has '^drawn true'
result "a click zooms a frame to the whole width" log_has '^zoomed 1180 wider fewer'
result "a zoom enlarges what is inside the frame" log_has '^inside 787'
result "the address has the zoom" log_has '^address #zoom=[0-9][0-9]*'
result "the callers of a zoomed frame stay visible" log_has '^path kept true'
result "the zoom is undone" log_has '^reset true'
result "a search marks its frames and sums them up" log_has '^found 2 Matched: 75.00%'
result "a search is undone" log_has '^cleared 0'
result "Ctrl-F asks for a search" log_has '^key true'
result "an expression that is none is refused" log_has '^expression true'
result "F3 asks for a search, the address has it" \
	log_has '^key found 1 Matched: 25.00% #search=idle'
result "a frame shows its samples" log_has '^detail true'
result "no error" sh -c '! grep -q ^error "$0"' "$work/log"
zoom=$(sed -n 's/^address #zoom=\([0-9]*\).*/\1/p' "$work/log")
state_page "${zoom:-1}" >"$work/page.html"
browse >"$work/log"
result "an address with a zoom and a search shows these" log_has '^state 4 1 Reset search'
icicle_page >"$work/page.html"
browse >"$work/log"
result "the icicle's frames are as wide as their shares of the branches" log_has \
	'^icicle all 1180 0, busy_inner 590 1, busy_outer 590 2, busy_outer 295 1, idle 295 1$'
result "what led to a frame of the icicle is below it" log_has '^below true'
result "a click zooms a frame of the icicle" log_has '^icicle zoomed 1180 1180'
result "a search marks a frame of the icicle" log_has '^icicle found 1'
finish
