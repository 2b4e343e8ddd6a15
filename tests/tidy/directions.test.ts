/**
 * The direction of the rooms: kernel ← contract, jobs, outbound ← exports, store, providers ← fast, paging ←
 * auth, connections, doctor, mail, resources, syncs, webhooks ← gate ← telemetry, usage ← doors ← settings ←
 * app. Whoever imports against it, or from a sibling, has put a rule into the wrong room.
 */
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path/posix'
import { test } from 'node:test'
import { codeFiles, exists, isTest, readText } from './tree.ts'

const ranks: Readonly<Record<string, number>> = {
  kernel: 0,
  contract: 1,
  jobs: 1,
  outbound: 1,
  exports: 2,
  store: 2,
  providers: 2,
  fast: 3,
  paging: 3,
  auth: 4,
  connections: 4,
  doctor: 4,
  mail: 4,
  resources: 4,
  syncs: 4,
  webhooks: 4,
  gate: 5,
  usage: 6,
  telemetry: 6,
  doors: 7,
  settings: 8,
  // The files at the root of src: the configuration and the version.
  root: 9,
  app: 10,
  // src/main.ts and src/service.ts start the app.
  main: 11,
}
const topRank = 11
/**
 * What rooms may know of each other beside the direction: types alone, of the ports, the caller and the
 * request record.
 */
const sharedTypes =
  /^#(?:store\/ports\/[\w-]+|fast\/port|providers\/port|auth\/caller|telemetry\/request-record)\.ts$/

interface Import {
  readonly from: string
  readonly target: string
  readonly typeOnly: boolean
}

const statement =
  /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[\w*{}\s,$]*?\sfrom\s+)?'([^']+)'|import\(\s*'([^']+)'/g

const imports: readonly Import[] = codeFiles.flatMap((from) =>
  [...readText(from).matchAll(statement)].flatMap(([, type, target, dynamic]) => {
    const name = target ?? dynamic
    return name === undefined ? [] : [{ from, target: name, typeOnly: type !== undefined }]
  }),
)

/** The room of a file below src, and the folder of any other. */
function roomOf(path: string): string {
  if (path === 'src/main.ts' || path === 'src/service.ts') return 'main'
  const [top = '', room = '', ...rest] = path.split('/')
  return top === 'src' ? (rest.length > 0 ? room : 'root') : top
}

/** Where an import leads: a path from the root, or the name of a package. */
function resolveTarget({ from, target }: Import): string {
  if (target.startsWith('.')) return join(dirname(from), target)
  const [, room = '', rest = ''] = /^#(\w+)\/(.+)$/.exec(target) ?? []
  if (room === '') return target
  if (['sandbox', 'tests'].includes(room)) return `${room}/${rest}`
  return room === 'src' ? `src/${rest}` : `src/${room}/${rest}`
}

const show = (bad: readonly Import[]) =>
  bad.map(({ from, target, typeOnly }) => `${from} → ${typeOnly ? 'type ' : ''}${target}`)

/** The floor below a room: providers/akahu, doors/rest, store/syncs; none for files at the room's root. */
function floorOf(path: string): string {
  const parts = path.split('/')
  return parts.length > 3 ? (parts[2] ?? '') : ''
}

test('every room has its rank, a row in the table of ARCHITECTURE.md and a place in its picture, and no other room has', () => {
  const inFolders = codeFiles.flatMap((path) => /^src\/([\w-]+)\//.exec(path)?.[1] ?? [])
  const rooms = [...new Set(inFolders)].sort()
  const ranked = Object.keys(ranks).filter((room) => room !== 'root' && room !== 'main')
  const page = readText('ARCHITECTURE.md')
  const described = [...page.matchAll(/^\| (`src\/[^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`src\/([\w-]+)\/`/g)].map(([, room]) => room),
  )
  const picture = /```\n(rooms [\s\S]*?)```/.exec(page)?.[1] ?? ''
  assert.deepEqual(ranked.sort(), rooms)
  assert.deepEqual(described.sort(), rooms)
  assert.deepEqual(
    rooms.filter((room) => !new RegExp(`^(?!rooms)\\s*(?:[a-z]+ )*${room}\\b`, 'm').test(picture)),
    [],
  )
})

test('every import that names a file of ours leads to one', () => {
  const lost = imports.filter((one) => {
    const path = resolveTarget(one)
    // Types alone have a declaration and no file to run.
    return /^[.#]/.test(one.target) && !exists(path) && !exists(path.replace(/\.js$/, '.d.ts'))
  })
  assert.deepEqual(show(lost), [])
})

test('no room imports from a sibling or from a room that stands on it', () => {
  const bad = imports.filter((one) => {
    const path = resolveTarget(one)
    if (!one.from.startsWith('src/') || !path.startsWith('src/') || isTest(one.from)) return false
    const [here, there] = [roomOf(one.from), roomOf(path)]
    if (here === there || (one.typeOnly && sharedTypes.test(one.target))) return false
    return (ranks[there] ?? topRank) >= (ranks[here] ?? topRank)
  })
  assert.deepEqual(show(bad), [])
})

/** The floors of the store, from the engines up. A floor may import those before it. */
const storeFloors = 'engine people mails syncs connections events care copy'.split(' ')

test('inside a room, siblings of one floor (providers, doors) import the ports and the listener alone, and types of the admin table; floors of the store import downwards', () => {
  const bad = imports.filter((one) => {
    const path = resolveTarget(one)
    if (!one.from.startsWith('src/') || isTest(one.from) || roomOf(one.from) !== roomOf(path)) {
      return false
    }
    // The operator's pages ask the admin API, and know the types of its table.
    if (one.typeOnly && path === 'src/doors/admin/table/table.ts') return false
    const [here, there] = [floorOf(one.from), floorOf(path)]
    const isShared = there === '' || there === 'ports' || there === 'listener'
    if (here === '' || isShared || here === there) return false
    const [from, to] = [storeFloors.indexOf(here), storeFloors.indexOf(there)]
    return roomOf(path) !== 'store' || from === -1 || to === -1 || to > from
  })
  assert.deepEqual(show(bad), [])
})

/** The files in circles: what is left when files that import none of the others, or that none imports, go. */
function findCircles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Map(graph)
  for (let before = Number.NaN; before !== left.size; ) {
    before = left.size
    for (const [file, targets] of left) {
      if (!targets.some((target) => left.has(target))) left.delete(file)
    }
    const imported = new Set([...left.values()].flat())
    for (const file of left.keys()) if (!imported.has(file)) left.delete(file)
  }
  return [...left.keys()].sort()
}

test('a circle is found however long it is, and what merely leads to it is left out', () => {
  const graph = new Map([
    ['start', ['a', 'leaf']],
    ['a', ['b']],
    ['b', ['leaf', 'c']],
    ['c', ['a']],
    ['leaf', []],
    ['self', ['self']],
  ])
  assert.deepEqual(findCircles(graph), ['a', 'b', 'c', 'self'])
})

test('no files import each other in a circle, tests, tools and the sandbox among them, types included', () => {
  const graph = new Map<string, string[]>(codeFiles.map((path) => [path, []]))
  for (const one of imports) {
    const path = resolveTarget(one)
    if (graph.has(path)) graph.get(one.from)?.push(path)
  }
  assert.deepEqual(findCircles(graph), [])
})

test('rooms are crossed by #room/…, and inside a room the way is relative', () => {
  const bad = imports.filter((one) => {
    const path = resolveTarget(one)
    if (!one.from.startsWith('src/') || !path.startsWith('src/')) return false
    return (roomOf(one.from) !== roomOf(path)) !== one.target.startsWith('#')
  })
  assert.deepEqual(show(bad), [])
})

test('a room has one name in imports: #room/…, and not #src/room/…', () => {
  assert.deepEqual(show(imports.filter(({ target }) => /^#src\/\w+\//.test(target))), [])
})

test('only the app imports the emulators, only tests import tests', () => {
  const bad = imports.filter((one) => {
    const path = resolveTarget(one)
    if (isTest(one.from)) return false
    if (path.startsWith('tests/') || /\.test\.ts$/.test(path)) return true
    return (
      path.startsWith('sandbox/') &&
      one.from.startsWith('src/') &&
      !/^src\/(?:service|app\/welcome)\.ts$/.test(one.from)
    )
  })
  assert.deepEqual(show(bad), [])
})

test('the emulators of the providers share nothing with the adapters but data', () => {
  const bad = imports.filter((one) => {
    const path = resolveTarget(one)
    if (!/^sandbox\/\w+\//.test(one.from) || isTest(one.from) || !path.startsWith('src/')) {
      return false
    }
    return roomOf(path) !== 'kernel' && !path.endsWith('.data.json')
  })
  assert.deepEqual(show(bad), [])
})

test('the kernel does no input and no output', () => {
  const pure = ['node:buffer', 'node:crypto', 'node:net', 'node:util', 'node:zlib']
  const bad = imports.filter(
    ({ from, target }) =>
      from.startsWith('src/kernel/') &&
      !isTest(from) &&
      !target.startsWith('./') &&
      !pure.includes(target),
  )
  assert.deepEqual(show(bad), [])
})

/** A package that only one place knows can be replaced in one place. */
const homes: Readonly<Record<string, RegExp>> = {
  undici: /^src\/(?:providers|outbound|webhooks)\//,
  'oidc-provider': /^src\/auth\/oauth\/engine\.ts$/,
  pg: /^src\/store\/(?:engine|copy)\//,
  kysely: /^src\/store\/(?!ports\/)/,
  'node:sqlite': /^src\/store\/(?:engine|copy)\//,
  ioredis: /^src\/fast\//,
  'lru-cache':
    /^src\/(?:fast|gate|paging|providers|resources|connections|auth\/oauth|doors\/(?:rest|mcp))\//,
  nodemailer: /^src\/mail\/smtp\.ts$/,
  pino: /^src\/telemetry\/log\.ts$/,
  'pino-pretty': /^src\/telemetry\/log\.ts$/,
  fastify: /^src\/(?:doors\/(?!rest\/)|app\/)/,
}

test('each outside package stays in its home; only its types travel', () => {
  const bad = imports.filter(({ from, target, typeOnly }) => {
    const home = typeOnly || !from.startsWith('src/') ? undefined : homes[target]
    return home !== undefined && !isTest(from) && !home.test(from)
  })
  assert.deepEqual(show(bad), [])
})
