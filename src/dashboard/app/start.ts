/** Imported first, to see errors of later modules too. A browser that blocks something would show an empty page. */

const hasDrawn = (root: Element): boolean =>
  root.firstElementChild !== null && root.querySelector(":scope > .starting") === null

addEventListener("error", ({ message }) => {
  const root = document.getElementById("dashboard")
  if (root === null || message === "" || hasDrawn(root)) return
  const [main, title, text] = [
    document.createElement("main"),
    document.createElement("h1"),
    document.createElement("p")
  ] as const
  main.className = "plain"
  title.textContent = "The dashboard could not start"
  text.textContent = `Your browser reported: ${message}. Reload the page, or try another browser.`
  main.append(title, text)
  root.replaceChildren(main)
})
