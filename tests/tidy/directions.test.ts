/**
 * The direction of the rooms: kernel ← contract ← store, providers ← auth, links, doctor, resources, events ← gate ←
 * doors ← app. Whoever imports against it, or from a sibling, has put a rule into the wrong room.
 */
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path/posix'
import { test } from 'node:test'
import { codeFiles, exists, isTest, readText } from './tree.ts'

const ranks: Readonly<Record<string, number>> = {
  kernel: 0,
  contract: 1,
  store: 2,
  providers: 2,
  outbound: 2,
  auth: 3,
  links: 3,
  doctor: 3,
  resources: 3,
  events: 3,
  gate: 4,
  doors: 5,
}
const appRank = 6
/** What rooms may know of each other beside the direction: types alone, of the ports and of the caller. */
const sharedTypes = ['#store/port.ts', '#store/kv-port.ts', '#providers/port.ts', '#auth/caller.ts']

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

/** The room of a file below src; the files at its root, their settings and their telemetry are the app. */
function roomOf(path: string): string {
  const [top = '', room = '', ...rest] = path.split('/')
  if (top === 'src' && (room === 'settings' || room === 'telemetry')) return 'app'
  return top === 'src' && rest.length > 0 ? room : top === 'src' ? 'app' : top
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

/** The floor below a room: providers/akahu, doors/rest, store/sql; none for files at the room's root. */
function floorOf(path: string): string {
  const parts = path.split('/')
  return parts.length > 3 ? (parts[2] ?? '') : ''
}

test('every import that names a file of ours leads to one', () => {
  const lost = imports.filter((one) => {
    const path = resolveTarget(one)
    return /^[.#]/.test(one.target) && !exists(path)
  })
  assert.deepEqual(show(lost), [])
})

test('no room imports from a sibling or from a room that stands on it', () => {
  const bad = imports.filter((one) => {
    const path = resolveTarget(one)
    if (!one.from.startsWith('src/') || !path.startsWith('src/') || isTest(one.from)) return false
    const [here, there] = [roomOf(one.from), roomOf(path)]
    if (here === there || (one.typeOnly && sharedTypes.includes(one.target))) return false
    return (ranks[there] ?? appRank) >= (ranks[here] ?? appRank)
  })
  assert.deepEqual(show(bad), [])
})

test('inside a room, siblings of one floor (providers, doors, drivers) never import each other', () => {
  const bad = imports.filter((one) => {
    const path = resolveTarget(one)
    if (!one.from.startsWith('src/') || isTest(one.from) || roomOf(one.from) !== roomOf(path)) {
      return false
    }
    const [here, there] = [floorOf(one.from), floorOf(path)]
    return here !== '' && there !== '' && here !== there
  })
  assert.deepEqual(show(bad), [])
})

test('rooms are crossed by #room/…, and inside a room the way is relative', () => {
  const bad = imports.filter((one) => {
    const path = resolveTarget(one)
    if (!one.from.startsWith('src/') || !path.startsWith('src/')) return false
    const crosses = roomOf(one.from) !== roomOf(path)
    return crosses !== one.target.startsWith('#') || /^#src\/\w+\//.test(one.target)
  })
  assert.deepEqual(show(bad), [])
})

test('the emulators are known to the app alone, tests to nobody but tests', () => {
  const bad = imports.filter((one) => {
    const path = resolveTarget(one)
    if (isTest(one.from)) return false
    if (path.startsWith('tests/') || /\.test\.ts$/.test(path)) return true
    return path.startsWith('sandbox/') && one.from.startsWith('src/') && roomOf(one.from) !== 'app'
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
  const pure = ['node:crypto', 'node:net', 'node:util']
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
  undici: /^src\/(?:providers|outbound|events)\//,
  'oidc-provider': /^src\/auth\/oauth\/engine\.ts$/,
  pg: /^src\/store\/sql\//,
  kysely: /^src\/store\/sql\//,
  'node:sqlite': /^src\/store\/sql\//,
  ioredis: /^src\/store\/kv\//,
  'lru-cache': /^src\/(?:store\/kv|gate|resources|doors\/rest)\//,
  'prom-client': /^src\/telemetry\/metrics\.ts$/,
  pino: /^src\/telemetry\/log\.ts$/,
  'pino-pretty': /^src\/telemetry\/log\.ts$/,
  fastify: /^src\/(?:doors\/(?!rest\/)|\w[\w-]*\.ts)/,
}

test('each outside package stays in its home; only its types travel', () => {
  const bad = imports.filter(({ from, target, typeOnly }) => {
    const home = typeOnly || !from.startsWith('src/') ? undefined : homes[target]
    return home !== undefined && !isTest(from) && !home.test(from)
  })
  assert.deepEqual(show(bad), [])
})
