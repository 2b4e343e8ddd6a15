/** Pages of one sentence, for cases where the only thing to do is to follow a link. */
import { type Html, html } from './html.ts'

/** One sentence and a link, back to the start when none is given. */
export function renderNotice(
  heading: string,
  sentence: string,
  link: { readonly path: string; readonly words: string } = {
    path: '/',
    words: 'Back to the start',
  },
): Html {
  return html`<article class="card"><h1>${heading}</h1><p>${sentence}</p><p><a href="${link.path}">${link.words}</a></p></article>`
}

/** For a host name that is not ours: names the right one and links to it. */
export function renderWrongAddress(origin: string, there: string): Html {
  return html`<article class="card"><h1>Wrong address</h1><p>This server does not answer under that name. Its address is <strong>${origin}</strong>.</p><p><a href="${there}">Go there</a></p></article>`
}
