// Fields above the table of operations, dtypes and drivers that leave only what one looks for.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const table = document.getElementById("support");
  if (!table) return;
  const rows = [...table.tBodies[0].rows].map((row) => ({
    row,
    name: row.cells[0].textContent,
    summary: row.cells[0].firstChild.title.toLowerCase(),
    ...JSON.parse(row.dataset.row),
  }));
  const drivers = Object.keys(rows[0].support);
  const dtypes = [...new Set(rows.flatMap((row) => row.dtypes))];

  const bar = document.createElement("p");
  bar.className = "filters";
  const add = (label, field) => {
    const outer = document.createElement("label");
    outer.append(`${label} `, field);
    bar.append(outer);
    field.addEventListener("input", show);
    return field;
  };
  const choice = (items) => {
    const field = document.createElement("select");
    field.append(new Option("any", ""), ...items.map((item) => new Option(item, item)));
    return field;
  };
  const text = add("operation", document.createElement("input"));
  text.type = "search";
  text.placeholder = "name or words";
  const dtype = add("dtype", choice(dtypes));
  const driver = add("driver", choice(drivers));
  const kind = add("which", choice(["has it", "lacks it"]));
  const count = document.createElement("output");
  bar.append(count);
  table.parentElement.before(bar);

  function fits(row) {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.every((word) => row.name.includes(word) || row.summary.includes(word))) return false;
    if (dtype.value && !row.dtypes.includes(dtype.value)) return false;
    if (!driver.value || !kind.value) return true;
    const found = row.support[driver.value];
    const has = dtype.value ? found.includes(dtype.value) : found.length > 0;
    return has === (kind.value === "has it");
  }

  function show() {
    kind.disabled = !driver.value;
    for (const row of rows) row.row.hidden = !fits(row);
    const left = rows.filter((row) => !row.row.hidden).length;
    count.textContent = `${left} of ${rows.length}`;
  }
  show();
});
