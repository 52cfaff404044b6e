"use strict";
// Asks the service for values at the points that were typed; nothing leaves for any other place.
for (const form of document.querySelectorAll("form.ask")) {
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = form.querySelector("output");
    const width = Number(form.dataset.coordinates);
    const numbers = form.elements.points.value.split(/[\s,;:]+/).filter((word) => word).map(Number);
    if (!numbers.length || numbers.some((number) => !Number.isFinite(number)) || numbers.length % width) {
      output.textContent = width === 1 ? "Type numbers, separated by commas." :
        `Type ${width} numbers for each point, separated by commas.`;
      return;
    }
    const points = [];
    for (let start = 0; start < numbers.length; start += width) {
      points.push(width === 1 ? numbers[start] : numbers.slice(start, start + width));
    }
    output.textContent = "Asking…";
    try {
      const response = await fetch(form.dataset.address, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ points }),
      });
      const answer = await response.json();
      const names = JSON.parse(form.dataset.names);
      output.textContent = response.ok ?
        answer.values.map((value, index) => {
          const said = Array.isArray(value) ? value.map((one, which) => `${names[which]} ${one}`).join(", ") : value;
          return `${[points[index]].flat().join(", ")}: ${said}`;
        }).join("\n") :
        `${answer.error.message} ${answer.error.way_out}`;
    } catch {
      output.textContent = "The service did not answer. Ask again.";
    }
  });
}
