"use strict";
// Paper has no way to open what is closed. A style sheet does the same where a browser can; this is for the others.
{
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details.opens-in-print:not([open])")];
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of closed) part.open = false;
    closed = [];
  });
}
