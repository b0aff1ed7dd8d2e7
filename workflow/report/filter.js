"use strict";
// Filters the units of a page of replies. The page is complete and readable without it.
(function () {
  var form = document.getElementById("filter");
  if (!form) { return; }
  var keys = ["world", "structure", "domain", "outcome"];
  var units = Array.prototype.slice.call(document.querySelectorAll("article.unit"));
  function has(select, value) {
    return Array.prototype.some.call(select.options, function (option) { return option.value === value; });
  }
  function apply() {
    var count = 0;
    units.forEach(function (unit) {
      var fits = keys.every(function (key) {
        var value = form.elements[key].value;
        return !value || unit.getAttribute("data-" + key) === value;
      });
      unit.hidden = !fits;
      if (fits) { count += 1; }
    });
    Array.prototype.forEach.call(document.querySelectorAll("section.world"), function (section) {
      section.hidden = !section.querySelector("article.unit:not([hidden])");
    });
    document.getElementById("shown").textContent = count + " of " + units.length + " shown";
  }
  // A bar links to #world or #world.part, where part is a structure or a domain.
  function follow() {
    var parts = location.hash.slice(1).split(".");
    if (!has(form.elements.world, parts[0])) { return; }
    keys.forEach(function (key) { form.elements[key].value = ""; });
    form.elements.world.value = parts[0];
    ["structure", "domain"].forEach(function (key) {
      if (parts[1] && has(form.elements[key], parts[1])) { form.elements[key].value = parts[1]; }
    });
    apply();
  }
  form.hidden = false;
  form.addEventListener("change", apply);
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  window.addEventListener("hashchange", follow);
  apply();
  follow();
}());
