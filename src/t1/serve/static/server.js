// Requests to the server; a refusal becomes a Problem with its field and cure.
const TOKEN = "t1 token";

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail);
    Object.assign(this, { status, detail: body.detail, cure: body.cure, field: body.field });
  }
}

export function setToken(text) { sessionStorage.setItem(TOKEN, text.trim()); }

function headers() {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

const unreachable = () => new Problem(0, { detail: "The server cannot be reached.", cure: "Is t1 serve still running?" });

function parsed(text) {
  try { return JSON.parse(text); } catch { return { detail: "The server gave an answer that cannot be read." }; }
}

export async function ask(method, path, body, extra = {}) {
  const more = body === undefined ? {} : { body: JSON.stringify(body), headers: { ...headers(), ...extra, "Content-Type": "application/json" } };
  const answer = await fetch(path, { method, headers: headers(), ...more }).catch(() => { throw unreachable(); });
  if (answer.status === 204) return null;
  const found = parsed(await answer.text());
  if (!answer.ok) throw new Problem(answer.status, found);
  return found;
}

// XMLHttpRequest, because fetch does not tell how much was sent.
export function upload(path, file, onShare) {
  const form = new FormData();
  form.append("file", file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", event => event.lengthComputable && onShare(event.loaded / event.total));
    request.addEventListener("load", () => {
      const found = parsed(request.responseText);
      if (request.status === 201) resolve(found); else reject(new Problem(request.status, found));
    });
    request.addEventListener("error", () => reject(unreachable()));
    request.send(form);
  });
}
