/** Pages of one sentence, for cases where the only thing to do is to follow a link. */
import { type Html, html } from './html.ts'

/** One sentence and a link back to the start. */
export function renderNotice(heading: string, sentence: string): Html {
  return html`<article class="card"><h1>${heading}</h1><p>${sentence}</p><p><a href="/">Back to the start</a></p></article>`
}

/** For a host name that is not ours: names the right one and links to it. */
export function renderWrongAddress(origin: string, there: string): Html {
  return html`<article class="card"><h1>Wrong address</h1><p>This server does not answer under that name. Its address is <strong>${origin}</strong>.</p><p><a href="${there}">Go there</a></p></article>`
}
