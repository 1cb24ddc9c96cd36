"""The script of a page of a study, and the style of what it switches."""

STYLE = """
.switches {
  background: white;
  border-bottom: 1px solid #ddd;
  max-height: 30vh;
  overflow-y: auto;
  padding: 6px 0;
  position: sticky;
  top: 0;
  z-index: 9;
}
.switches label {
  cursor: pointer;
  display: inline-block;
  margin-right: 20px;
  white-space: nowrap;
}
.switches i { display: inline-block; margin: 0 6px 4px 4px; width: 24px; }
"""

SCRIPT = """
const boxes = [...document.querySelectorAll("[data-policy]")];
function decode(text) {
  return new Float32Array(Uint8Array.from(atob(text), each => each.charCodeAt(0)).buffer);
}
function ticked() {
  return new Set(boxes.filter(box => box.checked).map(box => Number(box.dataset.policy)));
}
function columnsOf(lines, policies) {
  lines.x ??= decode(lines.steps);
  lines.y ??= decode(lines.values);
  const number = lines.x.length;
  const columns = {
    xs: [], ys: [], low: [], high: [], band_x: [], band_y: [], name: [], color: [], dash: [],
  };
  const band_x = [...lines.x, ...[...lines.x].reverse()];
  lines.policies.forEach((policy, line) => {
    if (!policies.has(policy)) { return; }
    const [value, low, high] = [0, 1, 2].map(
      row => lines.y.subarray((3 * line + row) * number, (3 * line + row + 1) * number));
    columns.xs.push(lines.x);
    columns.ys.push(value);
    columns.low.push(low);
    columns.high.push(high);
    columns.band_x.push(band_x);
    columns.band_y.push([...high, ...[...low].reverse()]);
    const style = curves.styles[policy];
    columns.name.push(style.name);
    columns.color.push(style.color);
    columns.dash.push(style.dash);
  });
  return columns;
}
function drawCurves() {
  const policies = ticked();
  for (const lines of curves.figures) {
    for (const shown of Bokeh.documents) {
      const source = shown.get_model_by_id(lines.source);
      if (source) { source.data = columnsOf(lines, policies); }
    }
  }
}
function tick(checked) {
  for (const box of boxes) { box.checked = checked; }
  drawCurves();
}
for (const box of boxes) { box.addEventListener("change", drawCurves); }
document.getElementById("all")?.addEventListener("click", () => tick(true));
document.getElementById("none")?.addEventListener("click", () => tick(false));
"""
