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
    const button = create("button", { type: "button", title: "sort by this column" }, ...head.childNodes);
    head.append(button);
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

// A scatter of two settings: the places of the points on either axis are in the page, the choice moves the points.
function makeChoosable(scatter) {
  const { settings, across, up } = JSON.parse(scatter.querySelector("template").content.textContent);
  const points = [...scatter.querySelectorAll("[data-case]")];
  const tools = create("div", { className: "tools" });
  const selects = ["across", "up"].map((title, place) => {
    const select = create("select", {}, ...settings.map((name, at) => create("option", { value: at }, name)));
    select.value = scatter.dataset[title];
    tools.append(create("label", {}, place ? "up the side" : "along the bottom", select));
    return select;
  });
  const update = () => {
    const [x, y] = selects.map((select) => Number(select.value));
    points.forEach((point, at) => point.setAttribute("transform", `translate(${across[x][at]},${up[y][at]})`));
    scatter.querySelector("[data-axis=across]").textContent = settings[x];
    scatter.querySelector("[data-axis=up]").textContent = settings[y];
  };
  tools.addEventListener("input", update);
  scatter.prepend(tools);
}

document.querySelectorAll("table.sortable").forEach((table) => {
  makeFilterable(table);
  makeSortable(table);
});
document.querySelectorAll(".scatter").forEach(makeChoosable);
