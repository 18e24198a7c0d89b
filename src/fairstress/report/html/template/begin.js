// ------------------------------------------------------------ what is drawn
const drawn = [["graph", drawGraph]];
if (find("picture")) drawn.push(["picture", drawPicture]);
if (r.curve) drawn.push(["curve", drawCurve], ["spread", drawSpread]);
if (r.curve && find("profiles")) drawn.push(["profiles", drawProfiles]);

// ------------------------------------------------------------ begin, and draw again when the window changes
let width = 0;
function draw() {
  const now = Math.max(280, Math.min(820, document.querySelector("main").clientWidth));
  if (now !== width)
    for (const [id, paint] of drawn) {
      find(id).textContent = "";
      paint(find(id), now);
    }
  width = now;
  reachable();
}
draw();
window.addEventListener("resize", draw);
find("download").addEventListener("click", () => save(JSON.stringify(r, null, 2), "application/json", "fairstress-results.json"));
if (!r.curve) return;
find("log").addEventListener("change", () => {
  width = 0;
  draw();
});
find("budget").max = last;
find("budget").addEventListener("input", () => show(Number(find("budget").value)));
show(current);
