
"use strict";
/* Reads values off the picture with the pointer, or with sliders from the keyboard. All numbers stand in the table. */
(() => {
  const drawing = document.getElementById("drawing");
  const controls = document.getElementById("controls");
  if (!drawing || !controls) return;
  const heads = [...document.querySelectorAll("#values thead th")].map((cell) => cell.textContent);
  const rows = [...document.querySelectorAll("#values tbody tr")].map((line) => ({
    x: Number(line.dataset.x),
    y: Number(line.dataset.y),
    cells: [...line.cells].map((cell) => cell.textContent),
  }));
  const sliders = [...controls.querySelectorAll("input")];
  const reading = document.getElementById("reading");
  const dot = drawing.querySelector("circle.guide");
  const line = drawing.querySelector("line.guide");

  const show = (index) => {
    const { x, y, cells } = rows[index];
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", y);
    if (line) {
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    }
    drawing.classList.add("reading");
    reading.textContent = cells.map((cell, i) => `${heads[i]} = ${cell}`).join(", ");
    let rest = index;
    for (let axis = sliders.length - 1; axis >= 0; axis -= 1) {
      const count = Number(sliders[axis].max) + 1;
      sliders[axis].value = rest % count;
      sliders[axis].setAttribute("aria-valuetext", `${heads[axis]} = ${cells[axis]}`);
      rest = Math.floor(rest / count);
    }
  };

  for (const slider of sliders) {
    slider.addEventListener("input", () => {
      show(sliders.reduce((index, each) => index * (Number(each.max) + 1) + Number(each.value), 0));
    });
  }

  const follow = (event) => {
    const matrix = drawing.getScreenCTM();
    if (!matrix) return;
    const spot = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    let best = 0;
    let least = Infinity;
    rows.forEach((each, index) => {
      const far = line ? Math.abs(each.x - spot.x) : Math.hypot(each.x - spot.x, each.y - spot.y);
      if (far < least) {
        least = far;
        best = index;
      }
    });
    show(best);
  };
  drawing.addEventListener("pointermove", follow);
  drawing.addEventListener("pointerdown", follow);

  controls.hidden = false;
})();
