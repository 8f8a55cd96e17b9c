// The jobs of this browser: an address is all that is kept of them.
const LATEST = "t1 jobs";

export function earlier() {
  try { return JSON.parse(localStorage.getItem(LATEST)) ?? []; } catch { return []; }
}

export function remember(job) {
  const jobs = [{ id: job.id, name: job.name, at: Date.now() }, ...earlier().filter(one => one.id !== job.id)].slice(0, 8);
  try { localStorage.setItem(LATEST, JSON.stringify(jobs)); } catch { /* a private window keeps nothing */ }
}

export function forget(id) {
  try { localStorage.setItem(LATEST, JSON.stringify(earlier().filter(one => one.id !== id))); } catch { /* the same */ }
}
