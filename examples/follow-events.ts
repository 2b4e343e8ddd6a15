/**
 * Follows the events of one person without a public address: long polls with a cursor that is stored beside
 * what was made of the events, so that nothing is lost when this program is killed.
 *
 *     TRIBUTARY_BASE_URL=http://127.0.0.1:3000 TRIBUTARY_API_KEY=… node examples/follow-events.ts
 */
import { readFile, rename, writeFile } from 'node:fs/promises'

const base = process.env.TRIBUTARY_BASE_URL ?? 'http://127.0.0.1:3000'
const file = process.env.CURSOR_FILE ?? 'events.cursor'
/** Ends after so many events; 0: never. */
const most = Number(process.env.MOST_EVENTS ?? '0')

interface Answer {
  readonly data: readonly { readonly id: string; readonly type: string }[]
  readonly next: string
}

let after = await readFile(file, 'utf8').catch(() => '')
for (let count = 0; most === 0 || count < most; ) {
  const query = new URLSearchParams({ consumer: 'example', wait: '55' })
  if (after !== '') query.set('after', after)
  const response = await fetch(`${base}/v1/events?${query}`, {
    headers: { authorization: `Bearer ${process.env.TRIBUTARY_API_KEY}` },
  })
  if (response.status === 410) {
    // Events were destroyed: go on with the oldest that are kept, and read the rest from /v1/transactions.
    const { error } = (await response.json()) as { error: { details: readonly string[] } }
    after = error.details[0]?.replace('oldest: ', '') ?? ''
    continue
  }
  if (response.status === 429 || response.status >= 500) {
    await wait(Number(response.headers.get('retry-after') ?? '5'))
    continue
  }
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  const { data, next } = (await response.json()) as Answer
  for (const event of data) console.log(event.id, event.type)
  count += data.length
  // Renamed, so that a kill leaves the cursor of before or this one.
  await writeFile(`${file}.new`, next)
  await rename(`${file}.new`, file)
  after = next
}

function wait(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}
