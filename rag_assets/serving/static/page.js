// What htmx does not do: keys, where the focus goes, going back, and copying. Nothing here is needed to read.
"use strict"
const one = (selector, within = document) => within.querySelector(selector)
const on = (event, act) => document.addEventListener(event, act)
const notice = text => one("#notice").replaceChildren(text)
const mark = link => {
  document.querySelectorAll(".cite[aria-current]").forEach(each => each.removeAttribute("aria-current"))
  if (link?.matches(".cite")) link.setAttribute("aria-current", "true")
}
let opener = null // the link that opened the evidence card

const shut = () => { // an open card is a step of the browser's history: going back closes it
  if (history.state?.card) {
    history.replaceState(null, "") // so that a second click goes back no further
    return history.back()
  }
  one("#evidence").replaceChildren()
  mark(null)
  if (opener?.isConnected) opener.focus()
}

window.addEventListener("popstate", event => { // before htmx, which would load the page anew
  if (history.state?.card || !one("#evidence .card")) return
  event.stopImmediatePropagation()
  shut()
})

on("keydown", event => {
  const isTyping = event.target.closest("input, textarea, select")
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches(".ask textarea")) {
    event.preventDefault()
    event.target.form.requestSubmit()
  } else if (event.key === "/" && !isTyping) {
    event.preventDefault()
    one("[data-first]")?.focus()
  } else if (event.key === "Escape" && one("#evidence .card")) shut()
  else if (!isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat) one(`[data-key="${CSS.escape(event.key)}"]`)?.click()
})

on("click", event => {
  const button = event.target.closest("button")
  if (button?.matches("[data-ask]")) {
    one("#question").value = button.innerText
    one("form.ask").requestSubmit()
  } else if (button?.matches("[data-copy]")) {
    navigator.clipboard.writeText(one(".said", button.closest(".body")).innerText).then(
      () => { button.textContent = "Copied" }, () => { button.textContent = "The browser did not allow it" })
  } else if (button?.matches(".shut")) shut()
})

on("htmx:beforeRequest", event => {
  const target = event.detail.target.id
  notice("")
  if (target === "evidence") opener = event.detail.elt
  if (target === "results") one("#evidence").replaceChildren()
  if (target !== "thread" || !one(".body.waiting")) return
  event.preventDefault()
  notice("An answer is on its way: wait for it, or stop it.")
})

on("htmx:beforeSwap", event => { // what another layer refuses is no page
  const sent = event.detail.xhr, isJson = sent.getResponseHeader("content-type")?.includes("json")
  if (sent.status < 400 || sent.responseText.includes('id="problem"')) return
  event.detail.shouldSwap = false
  notice(isJson ? JSON.parse(sent.responseText).detail : `The server refuses this: ${sent.status} ${sent.statusText}`)
})

for (const lost of ["sendError", "sseError"]) on(`htmx:${lost}`, () => notice("The server does not answer: is it still running?"))
on("htmx:sseOpen", () => notice(""))

on("htmx:oobAfterSwap", () => { // an answer that is kept has a lasting address
  const made = one("#after").value
  if (made) history.replaceState(history.state?.card ? history.state : null, "", `${one(".brand").pathname}history/${made}`)
})

on("htmx:afterSwap", event => {
  const target = event.detail.target ?? event.target // pieces that are streamed name none
  if (target.id === "evidence" && one("#evidence .card")) {
    const button = Object.assign(document.createElement("button"), { className: "plain shut", textContent: "Close" })
    target.prepend(button)
    target.scrollTop = 0
    mark(opener)
    if (!history.state?.card) history.pushState({ htmx: true, card: true }, "")
    one("h2", target).focus()
    ;[...target.querySelectorAll("tr.cited .marked")].at(-1)?.scrollIntoView({ block: "nearest", inline: "nearest" })
  } else if (target.id === "thread") {
    one("#question").value = "" // what is asked stays as it was chosen
    target.lastElementChild.scrollIntoView({ block: "start" })
  }
  const frame = target.closest("#evidence"), place = frame && one("rect.quote", target)
  const below = place ? place.getBoundingClientRect().bottom - window.innerHeight * .8 : 0
  if (below > 0) frame.scrollTop += below + window.innerHeight * .3
})
