// Node's http takes a QUERY of /search, and gives a 405 to one of /plain, as a handler must itself: PORT.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

let arrived = [];
let number = 0;

function answer(request, url, body) {
  if (url.pathname === "/arrived") {
    const seen = JSON.stringify(arrived);
    arrived = [];
    return [200, {}, seen];
  }
  if (url.pathname === "/plain") {
    return request.method === "GET" ? [200, {}, "{}"] : [405, { Allow: "GET" }, ""];
  }
  const tag = `"${createHash("sha256").update(body).digest("hex").slice(0, 8)}"`;
  const known = request.headers["if-none-match"] ?? null;
  arrived.push({ method: request.method, body, known });
  const fields = {
    ETag: tag,
    "Cache-Control": `max-age=${url.searchParams.get("life") ?? 60}`,
    "Content-Type": "application/json",
  };
  return known === tag ? [304, fields, ""] : [200, fields, JSON.stringify({ method: request.method, number: ++number })];
}

createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    const [status, fields, content] = answer(request, new URL(request.url, "http://localhost"), body);
    response.writeHead(status, fields).end(content);
  });
}).listen(Number(process.argv[2]), "127.0.0.1");
