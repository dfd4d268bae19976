/*
 * Makes the API reference easier to use: copy buttons, samples in other languages, a search, and requests with the session
 * of a person who is signed in. The page is complete without it. It makes elements and text, never markup.
 */

const make = (name, properties, ...children) => {
  const element = document.createElement(name)
  Object.assign(element, properties)
  element.append(...children)
  return element
}

const copiedMs = 2_000

const copyButton = (textOf) => {
  const button = make("button", { type: "button", className: "tool", textContent: "Copy" })
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(textOf())
      button.textContent = "Copied"
    } catch {
      button.textContent = "Select the text to copy it"
    }
    // biome-ignore lint/style/noRestrictedGlobals: the page runs in browsers, without Effect.
    setTimeout(() => {
      button.textContent = "Copy"
    }, copiedMs)
  })
  return button
}

/** The request of a sample, which the page states in attributes. */
const requestOf = ({ dataset }) => ({
  method: dataset.method,
  path: dataset.path,
  body: dataset.body === undefined ? undefined : JSON.parse(dataset.body),
  hasKey: dataset.key === "true"
})

const typescriptOf = ({ body, hasKey, method, path }, origin) => {
  const headers = {
    ...(hasKey ? { authorization: "KEY" } : { cookie: "SESSION" }),
    ...(body === undefined ? {} : { "content-type": "application/json" })
  }
  const options = [
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    `  headers: ${JSON.stringify(headers)
      .replace('"KEY"', "`Bearer $" + "{process.env.QUARRY_API_KEY}`")
      .replace('"SESSION"', "process.env.QUARRY_SESSION")}${body === undefined ? "" : ","}`,
    ...(body === undefined ? [] : [`  body: JSON.stringify(${JSON.stringify(body)})`])
  ]
  return [
    `const response = await fetch("${origin}${path}", {`,
    ...options,
    "})",
    "if (!response.ok) throw new Error(await response.text())",
    "console.log(await response.json())"
  ].join("\n")
}

const pythonValue = (value) =>
  JSON.stringify(value, (_, item) =>
    item === true ? "@True" : item === false ? "@False" : item === null ? "@None" : item
  )
    .replaceAll('"@True"', "True")
    .replaceAll('"@False"', "False")
    .replaceAll('"@None"', "None")

const pythonOf = ({ body, hasKey, method, path }, origin) => {
  const credential = hasKey
    ? `"Authorization": f"Bearer {os.environ['QUARRY_API_KEY']}"`
    : `"Cookie": os.environ["QUARRY_SESSION"]`
  return [
    "import os",
    "import httpx",
    "",
    "response = httpx.request(",
    `    "${method}", "${origin}${path}",`,
    `    headers={${credential}},`,
    ...(body === undefined ? [] : [`    json=${pythonValue(body)},`]),
    ")",
    "response.raise_for_status()",
    "print(response.json())"
  ].join("\n")
}

const addLanguages = (figure, origin) => {
  const code = figure.querySelector("code")
  const request = requestOf(figure)
  const texts = { curl: code.textContent, TypeScript: typescriptOf(request, origin), Python: pythonOf(request, origin) }
  const buttons = Object.entries(texts).map(([name, text]) => {
    const button = make("button", {
      type: "button",
      className: "tool",
      textContent: name,
      ariaPressed: `${name === "curl"}`
    })
    button.addEventListener("click", () => {
      code.textContent = text
      for (const other of buttons) other.ariaPressed = `${other === button}`
    })
    return button
  })
  figure.querySelector("figcaption").append(...buttons)
}

/** Runs the request of a sample with the session's cookie. Only requests that change nothing are offered. */
const addTry = (figure) => {
  const { method, path } = requestOf(figure)
  if (method !== "GET" || figure.dataset.session !== "true" || figure.dataset.cost === "true") return
  const button = make("button", { type: "button", className: "tool", textContent: "Try it" })
  button.addEventListener("click", async () => {
    button.textContent = "Running"
    const response = await fetch(path, { headers: { accept: "application/json" } }).catch(() => undefined)
    const text = response === undefined ? "The server could not be reached." : await response.text()
    const isJson = response?.headers.get("content-type")?.startsWith("application/json")
    const shown =
      response?.status === 401
        ? "Sign in to the dashboard first."
        : isJson
          ? JSON.stringify(JSON.parse(text), null, 2)
          : text
    figure.querySelector("output")?.remove()
    const title = response === undefined ? "No response" : `Response, ${response.status}`
    figure.append(
      make("output", {}, make("strong", { textContent: title }), make("pre", { tabIndex: 0, textContent: shown }))
    )
    button.textContent = "Try it"
  })
  figure.querySelector("figcaption").append(button)
}

const addSearch = (navigation) => {
  const field = make("input", {
    type: "search",
    placeholder: "Search the reference",
    ariaLabel: "Search the reference"
  })
  const links = [...navigation.querySelectorAll("li")]
  field.addEventListener("input", () => {
    const text = field.value.trim().toLowerCase()
    for (const item of links) {
      const target = document.getElementById(item.querySelector("a").hash.slice(1))
      const own = `${item.textContent} ${item.querySelector("ul") === null ? (target?.querySelector(".call")?.textContent ?? "") : ""}`
      item.hidden = text !== "" && !own.toLowerCase().includes(text)
    }
  })
  navigation.querySelector("ul").before(field)
}

const { origin } = location
for (const figure of document.querySelectorAll("figure")) {
  const code = figure.querySelector("code")
  if (code === null) continue
  if (figure.dataset.method !== undefined) {
    addLanguages(figure, origin)
    addTry(figure)
  }
  figure.querySelector("figcaption")?.append(copyButton(() => code.textContent))
}
addSearch(document.querySelector("nav"))
