/**
 * Follows the events of one person without a public address: long polls with a cursor that is stored beside
 * what was made of the events, so that nothing is lost when this program is killed. It ends after so many
 * rounds; without a number, never.
 *
 *   TRIBUTARY_API_KEY=trib_live_… node scripts/pinned.js examples/follow-events.ts [rounds]
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { ApiError } from '../sdk/typescript/index.js'
import { openClient, readArguments, readCount, run } from './client.ts'

const [wanted] = readArguments(1, 'follow-events.ts [rounds]')
const rounds = wanted === undefined ? Number.POSITIVE_INFINITY : readCount('rounds', wanted, 1)
const file = process.env.CURSOR_FILE ?? 'events.cursor'
const wait = readCount('WAIT_SECONDS', process.env.WAIT_SECONDS ?? '55', 0)
const client = openClient()

await run(async () => {
  for (let round = 1; round <= rounds; ) {
    const after = await readFile(file, 'utf8').catch(() => '')
    try {
      const query = { consumer: 'example', wait, ...(after === '' ? {} : { after }) }
      for await (const { data, next } of client.events(query).batches()) {
        for (const event of data) console.log(event.id, event.type)
        await store(next)
        round += 1
        if (round > rounds) return
      }
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'cursor_expired') throw error
      // Events were destroyed: go on with the oldest that are kept, and read the rest from the lists.
      await store((error.details[0] ?? '').replace('oldest: ', ''))
    }
  }
})

/** Renamed, so that a kill leaves the cursor of before or this one. */
async function store(cursor: string): Promise<void> {
  await writeFile(`${file}.new`, cursor)
  await rename(`${file}.new`, file)
}
