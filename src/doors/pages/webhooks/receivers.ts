/** Receivers of events to copy: the examples of this repository, with the endpoint's id in them. */
import { readFile } from 'node:fs/promises'
import { lazily } from '#kernel/lazily.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { type Html, html } from '../html.ts'

export interface ReceiverExample {
  readonly language: string
  /** How a comment begins in it. */
  readonly comment: string
  readonly code: string
}

const languages = [
  { language: 'TypeScript', comment: '//', file: 'receive-webhooks.ts' },
  { language: 'Python', comment: '#', file: 'receive-webhooks.py' },
  { language: 'Go', comment: '//', file: 'receive-webhooks.go' },
] as const

const folder = new URL('../../../../examples/', import.meta.url)

export const readReceivers = lazily(
  (): Promise<readonly ReceiverExample[]> =>
    Promise.all(
      languages.map(async ({ language, comment, file }) => ({
        language,
        comment,
        code: await readFile(new URL(file, folder), 'utf8'),
      })),
    ),
)

export function renderReceivers({ id }: EndpointRow, receivers: readonly ReceiverExample[]): Html {
  return html`<p>Each verifies the signature and answers at once. Give it the signing secret as <code>WEBHOOK_SECRET</code>.</p>
${receivers.map(({ language, comment, code }) => html`<details class="once"><summary>${language}</summary><pre tabindex="0"><code data-copy="the receiver in ${language}">${`${comment} Receives the events of endpoint ${id}.\n${code}`}</code></pre></details>`)}`
}
