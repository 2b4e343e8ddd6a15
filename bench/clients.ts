/**
 * What the client libraries and `tributary export` cost against the least that a script can do: ask for the
 * same windows and parse the JSON. Of the libraries it is the CPU of the reading process over cached rows; of
 * the export the time over rows that are read from the provider, as a person's export is.
 */
import { spawn } from 'node:child_process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Account, Transaction } from '#contract/resources.ts'
import { makeExporter } from '#exports/make-exporter.ts'
import { Tributary } from '../sdk/typescript/index.js'
import type { Figure } from './figures.ts'
import { startService } from './service.ts'
import { takeTurns } from './turns.ts'

const rounds = 9
const limit = 500
const goals = { typescript: 1.5, python: 3, export: 1.2 }

interface Walk {
  readonly origin: string
  readonly key: string
  readonly account: Account
}

export async function measureClients(): Promise<Figure[]> {
  const service = await startService()
  const { accounts, origin, key } = service.programs
  const id = accounts.find(({ provider }) => provider === 'fiskil')?.id
  const client = new Tributary({ apiKey: key, baseUrl: origin })
  const account = (await client.accounts.list()).data.find((one) => one.id === id)
  if (account === undefined) throw new Error('the account is not there')
  const walk = { origin, key, account: account as Account }
  const cached = '2023-01-01'
  const turns = await takeTurns(
    {
      bare: measured(() => walkBare(walk, cached)),
      client: measured(async () => {
        const list = client.transactions.list(queryOf(walk, cached))
        return (await list.toArray({ limit: 10_000 })).length
      }),
      bareFresh: measured(() => walkBare(walk, service.freshFrom())),
      export: measured(() => exportRows(client, walk, service.freshFrom())),
    },
    rounds,
    2,
  )
  const heap = await measureHeap(client, walk, cached)
  const python = await measurePython(walk)
  await service.stop()
  return [
    {
      bench: 'clients',
      what: 'CPU of the TypeScript client for a row, 5,400 cached rows',
      figure: `${turns.median('client', 'micros').toFixed(1)} µs`,
      anchor: `${turns.median('bare', 'micros').toFixed(1)} µs with fetch and JSON.parse`,
      ...judge(turns.ratio('client', 'bare', 'micros'), goals.typescript),
    },
    {
      bench: 'clients',
      what: 'CPU of the Python client with Decimal for a row, 5,400 cached rows',
      figure: `${python.client.toFixed(1)} µs`,
      anchor: `${python.bare.toFixed(1)} µs with http.client and json.loads`,
      ...judge(python.client / python.bare, goals.python),
    },
    {
      bench: 'clients',
      what: 'time of an export of 5,400 rows as CSV, read from the provider',
      figure: `${turns.median('export', 'ms').toFixed(0)} ms`,
      anchor: `${turns.median('bareFresh', 'ms').toFixed(0)} ms for its windows alone`,
      ...judge(turns.ratio('export', 'bareFresh', 'ms'), goals.export),
    },
    heap,
  ]
}

const judge = (ratio: number, goal: number) => ({
  ratio: ratio.toFixed(2),
  goal: `≤ ${goal}`,
  met: ratio <= goal,
})

const queryOf = ({ account }: Walk, from: string) => ({
  connectionId: account.connectionId,
  accountId: account.id,
  from,
  limit,
})

/** The time, and microseconds of CPU of this process for each row that `read` counts. */
const measured = (read: () => Promise<number>) => async () => {
  const before = process.cpuUsage()
  const started = performance.now()
  const rows = await read()
  const ms = performance.now() - started
  const { user, system } = process.cpuUsage(before)
  return { ms, micros: (user + system) / rows }
}

async function walkBare(walk: Walk, from: string): Promise<number> {
  const { origin, key, account } = walk
  const query = `connectionId=${account.connectionId}&accountId=${account.id}&from=${from}`
  let rows = 0
  for (let offset = 0; ; offset += limit) {
    const url = `${origin}/v1/transactions?${query}&limit=${limit}&offset=${offset}`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    const { data, pagination } = JSON.parse(await answer.text())
    rows += data.length
    if (!pagination.hasMore) return rows
  }
}

async function exportRows(client: Tributary, walk: Walk, from: string, onPage = () => {}) {
  const { account } = walk
  const subject = { account, from, to: null, zone: 'UTC', now: Date.now() }
  const made = makeExporter('csv', 'banking', subject, { hasBom: false, isForSpreadsheet: false })
  if (made?.category !== 'banking') throw new Error('no export of a bank')
  let rows = 0
  for await (const { data } of client.transactions.list(queryOf(walk, from)).pages()) {
    made.exporter.add(data as readonly Transaction[])
    rows += data.length
    onPage()
  }
  return rows
}

/** What the process still holds after each page: flat means that no page is kept. */
async function measureHeap(client: Tributary, walk: Walk, from: string): Promise<Figure> {
  const held: number[] = []
  const collect = openCollector()
  await exportRows(client, walk, from, () => {
    collect()
    held.push(process.memoryUsage().heapUsed)
  })
  const [second = 0, last = 0] = [held[1], held.at(-1)]
  const grown = (last - second) / 1e6
  return {
    bench: 'clients',
    what: `memory that an export holds more after ${held.length} pages than after two`,
    figure: `${grown.toFixed(2)} MB`,
    anchor: '',
    ratio: '',
    goal: '≤ 0.5 MB',
    met: grown <= 0.5,
  }
}

/** The collector of garbage, which a process has from its first script on only where its flags say so. */
function openCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

interface PythonCosts {
  readonly bare: number
  readonly client: number
}

async function measurePython({ origin, key, account }: Walk): Promise<PythonCosts> {
  const script = new URL('./clients.py', import.meta.url).pathname
  const source = new URL('../sdk/python/src', import.meta.url).pathname
  const child = spawn('python3', [script, account.connectionId, account.id], {
    env: { ...process.env, PYTHONPATH: source, TRIBUTARY_API_KEY: key, TRIBUTARY_BASE_URL: origin },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const part of child.stdout) text += part
  return JSON.parse(text) as PythonCosts
}
