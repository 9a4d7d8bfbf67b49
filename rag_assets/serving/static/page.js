// What htmx does not do: keys, where the focus goes, and copying. Nothing here is needed to read.
"use strict"
const one = (selector, within = document) => within.querySelector(selector)
let opener = null // the link that opened the evidence card

const shut = () => {
  one("#evidence").replaceChildren()
  if (opener?.isConnected) opener.focus()
  document.querySelectorAll(".cite[aria-current]").forEach(link => link.removeAttribute("aria-current"))
}

document.addEventListener("keydown", event => {
  const isTyping = event.target.closest("input, textarea, select")
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches(".ask textarea")) {
    event.preventDefault()
    event.target.form.requestSubmit()
  } else if (event.key === "/" && !isTyping) {
    event.preventDefault()
    one("[data-first]")?.focus()
  } else if (event.key === "Escape" && one("#evidence .card")) {
    shut()
  }
})

document.addEventListener("click", event => {
  const button = event.target.closest("button")
  if (button?.matches("[data-ask]")) {
    one("#question").value = button.innerText
    one("form.ask").requestSubmit()
  } else if (button?.matches("[data-copy]")) {
    navigator.clipboard.writeText(one(".said", button.closest(".body")).innerText).then(
      () => { button.textContent = "Copied" }, () => { button.textContent = "The browser did not allow it" })
  } else if (button?.matches(".shut")) {
    shut()
  }
})

document.addEventListener("htmx:beforeRequest", event => {
  one("#notice").replaceChildren()
  if (event.detail.target.id === "evidence") opener = event.detail.elt
})

document.addEventListener("htmx:beforeSwap", event => { // what another layer refuses is told as JSON
  const sent = event.detail.xhr
  if (!sent.getResponseHeader("content-type")?.includes("problem+json")) return
  event.detail.shouldSwap = false
  one("#notice").textContent = JSON.parse(sent.responseText).detail
})

document.addEventListener("htmx:sendError", () => { one("#notice").textContent = "The server does not answer: is it still running?" })

document.addEventListener("htmx:afterSwap", event => {
  const target = event.detail.target ?? event.target // pieces that are streamed name none
  if (target.id === "evidence" && one("#evidence .card")) {
    const button = Object.assign(document.createElement("button"), { className: "plain shut", textContent: "Close" })
    one("#evidence").prepend(button)
    one("#evidence").scrollTop = 0
    document.querySelectorAll(".cite[aria-current]").forEach(link => link.removeAttribute("aria-current"))
    if (opener?.matches(".cite")) opener.setAttribute("aria-current", "true")
    one("#evidence h2").focus()
  } else if (target.id === "thread") {
    one("form.ask").reset()
    target.lastElementChild.scrollIntoView({ block: "start" })
  }
  const frame = target.closest("#evidence"), mark = frame && one("rect.quote", target)
  const below = mark ? mark.getBoundingClientRect().bottom - window.innerHeight * .8 : 0
  if (below > 0) frame.scrollTop += below + window.innerHeight * .3
})
