"use strict";
// Tables with the class "sortable": a button in each header sorts, a row of tools above filters. Nothing is loaded.
const create = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

function sorted(table, column, direction) {
  const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
  const numeric = table.tHead.rows[0].cells[column].classList.contains("number");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [value(row), row]);
  rows.sort(([a], [b]) => {
    if (a === "" || b === "") return (a === "") - (b === ""); // what is not known stands last, either way
    return direction * (numeric ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true }));
  });
  body.append(...rows.map(([, row]) => row));
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column, heads) => {
    // no element "button": where there is one in a header, it is not repeated on each printed page
    const button = create("span", { role: "button", tabIndex: 0, title: "sort by this column" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      button.click();
    });
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sorted(table, column, up ? 1 : -1);
    });
  });
}

function makeFilterable(table) {
  const rows = [...table.tBodies[0].rows];
  const heads = [...table.tHead.rows[0].cells];
  const status = create("span", { role: "status" });
  const search = create("input", { type: "search", placeholder: "words that a row must have" });
  const choices = heads.flatMap((head, column) => {
    if (!("choose" in head.dataset)) return [];
    const values = [...new Set(rows.map((row) => row.cells[column].textContent))].sort();
    const select = create("select", {}, create("option", { value: "" }, "all"));
    select.append(...values.map((value) => create("option", { value }, value)));
    return [{ column, select, title: head.textContent }];
  });
  const update = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const content = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
      const wanted = words.every((word) => content.includes(word));
      row.hidden = !wanted || choices.some((c) => c.select.value && row.cells[c.column].textContent !== c.select.value);
      shown += !row.hidden;
    }
    status.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  };
  const tools = create("div", { className: "tools" }, create("label", {}, "filter", search));
  tools.append(...choices.map((c) => create("label", {}, c.title, c.select)), status);
  tools.addEventListener("input", update);
  table.closest(".scroll").before(tools);
  update();
}

// A scatter of two settings: the seconds of all are in the page, and the choice moves the points.
function makeChoosable(scatter) {
  const { settings, names, seconds, low, high, side } = JSON.parse(scatter.querySelector("template").content.textContent);
  const points = [...scatter.querySelectorAll(".mark-symbol path")];
  const titles = scatter.querySelectorAll(".role-axis-title text");
  const labels = points.map((point) => {
    const label = document.createElementNS("http://www.w3.org/2000/svg", "title");
    point.append(label);
    return label;
  });
  const place = (value) => (side * Math.log(value / low)) / Math.log(high / low);
  const tools = create("div", { className: "tools" });
  const selects = ["along the bottom", "up the side"].map((title, chosen) => {
    const select = create("select", {}, ...settings.map((name, at) => create("option", { value: at }, name)));
    select.value = chosen;
    tools.append(create("label", {}, title, select));
    return select;
  });
  const update = () => {
    const chosen = selects.map((select) => Number(select.value));
    points.forEach((point, at) => {
      const [x, y] = chosen.map((setting) => seconds[setting][at]);
      const seen = x !== null && y !== null; // both were run
      point.setAttribute("opacity", seen ? 0.8 : 0);
      point.style.pointerEvents = seen ? "" : "none";
      labels[at].textContent = "";
      if (!seen) return;
      point.setAttribute("transform", `translate(${place(x)},${side - place(y)})`);
      labels[at].textContent = `${names[at]}: ${x} s and ${y} s`;
    });
    chosen.forEach((setting, axis) => (titles[axis].textContent = settings[setting]));
    scatter.querySelector("svg").setAttribute("aria-label", `Seconds of ${chosen.map((s) => settings[s]).join(" and ")}`);
  };
  tools.addEventListener("input", update);
  scatter.prepend(tools);
  update();
}

document.querySelectorAll("table.sortable").forEach((table) => {
  if (table.tBodies[0].rows.length > 8) makeFilterable(table);
  makeSortable(table);
});
document.querySelectorAll(".scatter").forEach(makeChoosable);
