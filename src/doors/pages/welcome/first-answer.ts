/** The first answer of the API, on the page that shows the first key: read as the key would read it. */
import { ApiError } from '#contract/errors.ts'
import type { PagesContext } from '../context.ts'
import { type Html, html } from '../html.ts'
import { findExample, toExampleUrl } from '../keys/example.ts'
import type { SignedInRequest } from '../signed-in.ts'

export interface FirstAnswer {
  readonly url: string
  /** Null: it could not be read. */
  readonly body: unknown
  /** Why it could not be read; null: it was. */
  readonly problem: string | null
}

const rows = 3

export async function readFirstAnswer(
  context: PagesContext,
  { visit, request, reply }: SignedInRequest,
): Promise<FirstAnswer> {
  const { user } = visit
  const asked = await findExample(context, user, { limit: rows })
  const url = toExampleUrl(context.origins().base, asked)
  try {
    const reader = { userId: user.id, request: request.raw, response: reply.raw }
    const { body } = await (await context.openOwnReads(reader)).ask<unknown>(asked)
    return { url, body, problem: null }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { url, body: null, problem: error.message }
  }
}

/** The key, the request to copy, and what it answers. */
export function renderFirstAnswer(key: string, { url, body, problem }: FirstAnswer): Html {
  return html`<section class="card once" aria-labelledby="first-answer">
<h2 id="first-answer">Your first answer</h2>
<p>This key is shown this once. Keep it now: it cannot be shown again.</p>
<p><output name="secret" data-copy="the key">${key}</output></p>
<p>This request reads your newest rows:</p>
<pre><code data-copy="the command">curl -s -H 'Authorization: Bearer ${key}' '${url}'</code></pre>
${
  problem === null
    ? html`<p>It answers:</p>
<pre class="answer" tabindex="0"><code>${JSON.stringify(body, null, 2)}</code></pre>`
    : html`<p class="trouble"><strong>It could not be read now.</strong> ${problem}</p>`
}
</section>`
}
