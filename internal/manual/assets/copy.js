// A button at each block of code that copies it. Without this script all else works.
"use strict";

function select(block) {
  const range = document.createRange();
  range.selectNodeContents(block);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}

async function copy(block) {
  if (navigator.clipboard) { // only where the page is secure
    await navigator.clipboard.writeText(block.textContent.replace(/\n$/, ""));
    return true;
  }
  select(block);
  return document.execCommand("copy");
}

for (const block of document.querySelectorAll("pre")) {
  const frame = document.createElement("div");
  frame.className = "code";
  block.replaceWith(frame);
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  frame.append(block, button);
  button.addEventListener("click", async () => {
    const done = await copy(block).catch(() => false);
    if (!done) select(block);
    button.textContent = done ? "Copied" : "Selected";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
