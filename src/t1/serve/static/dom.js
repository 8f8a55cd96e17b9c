// Elements of the page, and what is wrong, told beside the field it concerns.
import { Problem } from "./server.js";

export const $ = id => document.getElementById(id);

export function el(tag, props = {}, ...children) {
  const made = Object.assign(document.createElement(tag), props);
  made.append(...children);
  return made;
}

export function tell(problem) {
  document.querySelectorAll(".wrong").forEach(one => one.classList.remove("wrong"));
  if (!problem) { $("alert").hidden = true; return; }
  if (problem.status === 401) {
    $("token").hidden = false;
    $("token-wrong").hidden = !$("token-text").value;
    $("token-text").focus();
    return;
  }
  $("alert").textContent = [problem.detail, problem.cure].filter(Boolean).map(labelled).join("\n");
  $("alert").hidden = false;
  const field = problem.field && document.querySelector(`[data-field="${CSS.escape(problem.field)}"]`);
  if (field) {
    field.closest("details")?.setAttribute("open", "");
    field.classList.add("wrong");
    if (field.matches("input, select")) { field.focus(); field.setAttribute("aria-describedby", "alert"); }
  } else {
    $("alert").scrollIntoView({ block: "nearest" });
  }
}

// Options that a message names, "(separator)", by their labels on this page.
function labelled(text) {
  return text.replace(/\((\w+)\)/g, (whole, name) => {
    const field = document.querySelector(`[data-field="${name}"]`), label = field?.labels?.[0];
    return label ? `(“${label.textContent}”)` : whole;
  });
}

export async function attempt(action) {
  try {
    const value = await action();
    tell(null);
    return value;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    tell(error);
    return undefined;
  }
}
