"""The frame, the style sheet and the script of the page of a study."""

PAGE = """<!doctype html>
<html lang="en">
<head>
{head}
</head>
<body>
{body}
</body>
</html>
"""

STYLE = """
body {
  font: 16px/1.5 system-ui, sans-serif;
  margin: 0 auto;
  max-width: 1100px;
  padding: 0 16px 48px;
}
h1 { margin-bottom: 0; }
h3 { font-weight: 600; margin: 24px 0 0; }
img { max-width: 100%; }
table { border-collapse: collapse; font-size: 13px; min-width: 900px; }
td, th { border-bottom: 1px solid #ddd; padding: 3px 12px 3px 0; text-align: left; }
.wide { overflow-x: auto; }
pre { background: #f4f4f4; overflow-x: auto; padding: 12px; }
.switches {
  background: white;
  border-bottom: 1px solid #ddd;
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
function show() {
  for (const box of boxes) {
    for (const id of renderers[box.dataset.policy]) {
      for (const shown of Bokeh.documents) {
        const renderer = shown.get_model_by_id(id);
        if (renderer) { renderer.visible = box.checked; }
      }
    }
  }
}
function tick(checked) {
  for (const box of boxes) { box.checked = checked; }
  show();
}
for (const box of boxes) { box.addEventListener("change", show); }
document.getElementById("all")?.addEventListener("click", () => tick(true));
document.getElementById("none")?.addEventListener("click", () => tick(false));
"""
