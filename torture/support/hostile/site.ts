import { createServer, type ServerResponse } from "node:http"
import { gzipSync } from "node:zlib"

/**
 * A site on every loopback address, in a separate process. Its first line of output is its port. Its argument selects
 * its pages: `hostile`, or `ordinary` articles of 20 kB.
 */
const isHostile = process.argv[2] === "hostile"

const html = { "content-type": "text/html; charset=utf-8" }
const tags = "<b>".repeat(4_000) + "<p>x".repeat(1_000_000)
const bomb = gzipSync(Buffer.alloc(200 * 1024 ** 2, "<p>a "))
const cyclicPdf = `%PDF-1.7
1 0 obj
<< /Type /Catalog /Pages 2 0 R >>
endobj
2 0 obj
<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 2 >>
endobj
3 0 obj
<< /Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 1 >>
endobj
trailer
<< /Size 4 /Root 1 0 R >>
%%EOF`

/** Sends a little of a page every 100 ms, without end. */
const trickle = (response: ServerResponse): void => {
  response.writeHead(200, html)
  const timer = setInterval(() => response.write("<p>more "), 100)
  response.on("close", () => clearInterval(timer))
}

const hostile: ReadonlyArray<(response: ServerResponse) => void> = [
  (response) => response.writeHead(200, html).end("<div>".repeat(400_000)),
  (response) => response.writeHead(200, html).end(`<table>${"<tr><td>a<td>b".repeat(100_000)}`),
  (response) => response.writeHead(200, html).end(tags),
  (response) => response.writeHead(200, { ...html, "content-encoding": "gzip" }).end(bomb),
  (response) => response.writeHead(200, { "content-type": "application/pdf" }).end(cyclicPdf),
  trickle
]

const article = `<title>A page</title><main>${"<p>A sentence of an ordinary article.</p>".repeat(500)}</main>`

let served = 0

const server = createServer((request, response) => {
  if (request.url === "/robots.txt") response.writeHead(404).end()
  else if (isHostile) hostile[served++ % hostile.length]?.(response)
  else response.writeHead(200, html).end(article)
})

server.listen(0, "0.0.0.0", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : "")
})
