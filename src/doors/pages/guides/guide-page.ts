/** A guide, and the index of all. Rendering only. */
import { type Html, html } from '../html.ts'
import { type Guide, guidesPath, pathOfGuide } from './library.ts'

export const renderIndex = (index: Guide): Html =>
  html`<article class="guide">${index.html}</article>
<p>The <a href="/doc">API reference</a> has every operation with its fields.</p>`

export function renderGuide(guide: Guide): Html {
  return html`<p><a href="${guidesPath}">All guides</a></p>
<article class="guide">${guide.html}</article>
<p><small><a href="${pathOfGuide(guide.name)}.md">This page as Markdown</a></small></p>`
}
