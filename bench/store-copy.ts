/**
 * `tributary store copy` of a made-up store of 100,000 connections into the PostgreSQL of TEST_DATABASE_URL:
 * the command as an operator runs it, from its start to its end. The anchor writes as many bytes to a file
 * and syncs it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fsyncSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Figure } from './figures.ts'
import { makeBareDatabase, makeSqliteGround, openPlace, storeKey, withEngine } from './ground.ts'
import { fillForCopy } from './store-copy-fill.ts'

const connections = 100_000
const goalSeconds = 60
const command = fileURLToPath(new URL('../cli/main.ts', import.meta.url))

/** Nothing where no server is named. */
export async function measureStoreCopy(): Promise<Figure[]> {
  const server = process.env.TEST_DATABASE_URL ?? ''
  if (server === '') {
    console.log('not measured: a copy needs TEST_DATABASE_URL')
    return []
  }
  const ground = await makeSqliteGround()
  const target = await makeBareDatabase(server)
  try {
    await (await openPlace(ground.place)).close()
    await withEngine(ground.place, (engine) => fillForCopy(engine, { connections }))
    const { dataDir } = ground.place
    const file = join(dataDir, 'tributary.db')
    const { size } = statSync(file)
    const anchor = writeAnchor(join(dataDir, 'anchor'), size)
    const { seconds, rows } = await copy(dataDir, target.url)
    return [
      {
        bench: 'copy',
        what: `\`store copy\` of ${connections.toLocaleString('en')} connections (${rows.toLocaleString('en')} rows, a file of ${(size / 1e6).toFixed(0)} MB)`,
        figure: `${seconds.toFixed(1)} s`,
        anchor: `${anchor.toFixed(1)} s, a file of this size written and synced`,
        ratio: (seconds / anchor).toFixed(1),
        goal: `< ${goalSeconds} s`,
        met: seconds < goalSeconds,
      },
    ]
  } finally {
    await target.remove()
    await ground.remove()
  }
}

async function copy(dataDir: string, url: string) {
  const started = performance.now()
  const env = {
    PATH: process.env.PATH,
    NODE_ENV: 'test',
    DATA_DIR: dataDir,
    ENCRYPTION_KEY: Buffer.from(storeKey).toString('base64'),
  }
  const args = [
    '--disable-warning=ExperimentalWarning',
    command,
    'store',
    'copy',
    '--to',
    '-',
    '--json',
  ]
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(`${url}\n`)
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) throw new Error(`the copy ended with ${code}`)
  const { rows } = JSON.parse(output) as { readonly rows: number }
  return { seconds: (performance.now() - started) / 1000, rows }
}

function writeAnchor(path: string, size: number): number {
  const started = performance.now()
  const bytes = Buffer.alloc(1 << 20, 0x5e)
  const file = openSync(path, 'wx')
  for (let left = size; left > 0; left -= bytes.length) writeSync(file, bytes)
  fsyncSync(file)
  closeSync(file)
  return (performance.now() - started) / 1000
}
