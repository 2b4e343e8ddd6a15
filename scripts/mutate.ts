/**
 * `npm run mutate [-- NAME …]`: mutation testing of the pure modules. Every mutant of a module is run against
 * the module's own tests, two at a time; the ones that no test detects are printed, with the score. The tree
 * is not changed, and a run exits with 1 when a score is below its floor.
 */
import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Mutant, makeMutants } from './mutation/mutants.ts'

interface Subject {
  readonly module: string
  readonly tests: readonly string[]
  /** Percent of mutants that must be detected; the others have no observable effect (docs/testing.md). */
  readonly floor: number
  readonly env?: Readonly<Record<string, string>> | undefined
}

const snaptrade = 'src/providers/snaptrade'
const subjects: readonly Subject[] = [
  { module: 'src/kernel/decimal.ts', tests: ['src/kernel/decimal*.test.ts'], floor: 90 },
  { module: 'src/kernel/time.ts', tests: ['src/kernel/time*.test.ts'], floor: 91 },
  {
    module: 'src/resources/date-window.ts',
    tests: ['src/resources/date-window*.test.ts'],
    floor: 92,
  },
  { module: 'src/gate/url-key.ts', tests: ['src/gate/url-key*.test.ts'], floor: 60 },
  {
    module: 'src/fast/memory-windows.ts',
    tests: ['tests/contract/kv/memory*.test.ts'],
    floor: 97,
  },
  {
    module: 'src/fast/memory-breakers.ts',
    tests: ['tests/contract/kv/memory*.test.ts'],
    floor: 90,
  },
  {
    module: 'src/fast/breaker-rule.ts',
    tests: ['tests/contract/kv/memory*.test.ts'],
    floor: 100,
  },
  {
    module: `${snaptrade}/map-trade.ts`,
    tests: [`${snaptrade}/map-trade*.test.ts`, `${snaptrade}/reader*.test.ts`],
    floor: 92,
  },
  // Every module that decides which rows are shown, against fewer games than usual, always the same ones.
  ...(
    [
      ['src/paging/snapshot.ts', 70],
      ['src/paging/take-page.ts', 88],
      ['src/paging/read-on.ts', 65],
      ['src/paging/anchor.ts', 78],
      ['src/paging/windows.ts', 60],
      ['src/paging/place.ts', 60],
    ] as const
  ).map(([module, floor]) => ({
    module,
    tests: ['src/paging/*.test.ts'],
    floor,
    env: { PAGING_GAMES: '150', PAGING_SEED: '1' },
  })),
]
const inParallel = 2
/**
 * A mutant that loops endlessly counts as detected: after twenty times the tests' normal duration, and at
 * least this long.
 */
const leastLimitMs = 10_000
const firstLimitMs = 120_000

type Fate = 'noticed' | 'endless' | 'survives'

const wanted = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'tributary-mutants-'))
try {
  for (const subject of subjects) {
    if (wanted.length > 0 && !wanted.some((name) => subject.module.includes(name))) continue
    if (!(await isTestedWell(subject))) process.exitCode = 1
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function isTestedWell({ module, tests, floor, env }: Subject): Promise<boolean> {
  const source = readFileSync(module, 'utf8')
  const files = globSync([...tests])
  const sound = { line: 0, change: '', source }
  const started = performance.now()
  if (
    (await tryMutant({ module, files, env, limitMs: firstLimitMs }, sound, 'sound')) !== 'survives'
  ) {
    console.log(`${module}: its tests fail before anything is changed`)
    return false
  }
  const limitMs = Math.max(leastLimitMs, Math.ceil(performance.now() - started) * 20)
  const mutants = makeMutants(source)
  const fates: { readonly mutant: Mutant; readonly fate: Fate }[] = []
  let next = 0
  async function work(worker: number): Promise<void> {
    for (let mutant = mutants[next++]; mutant !== undefined; mutant = mutants[next++]) {
      const fate = await tryMutant({ module, files, env, limitMs }, mutant, String(worker))
      fates.push({ mutant, fate })
    }
  }
  await Promise.all(Array.from({ length: inParallel }, (_, worker) => work(worker)))
  return print(module, fates, floor)
}

function print(
  module: string,
  fates: readonly { readonly mutant: Mutant; readonly fate: Fate }[],
  floor: number,
): boolean {
  const survivors = fates.filter(({ fate }) => fate === 'survives').map(({ mutant }) => mutant)
  const endless = fates.filter(({ fate }) => fate === 'endless').length
  const noticed = fates.length - survivors.length
  const score = fates.length === 0 ? 100 : (noticed / fates.length) * 100
  const sum = `${noticed} of ${fates.length} noticed, ${endless} of them by never ending`
  console.log(`${module}: ${score.toFixed(1)} % (${sum})`)
  for (const { line, change } of survivors.toSorted((left, right) => left.line - right.line)) {
    console.log(`  survives  line ${line}: ${change}`)
  }
  return score >= floor
}

/** The result of the tests when the mutant replaces the module. */
function tryMutant(
  trial: Pick<Subject, 'module' | 'env'> & {
    readonly files: readonly string[]
    readonly limitMs: number
  },
  mutant: Mutant,
  name: string,
): Promise<Fate> {
  const replacement = join(folder, `${name}.ts`)
  writeFileSync(replacement, mutant.source)
  const hook = pathToFileURL(join(import.meta.dirname, 'mutation', 'replace-module.ts')).href
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      `--import=${hook}`,
      '--test',
      '--test-isolation=none',
      `--test-reporter=${join(import.meta.dirname, 'mutation', 'first-failure.ts')}`,
      ...trial.files,
    ],
    {
      stdio: 'ignore',
      timeout: trial.limitMs,
      killSignal: 'SIGKILL',
      env: {
        ...process.env,
        ...trial.env,
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
        MUTANT: JSON.stringify([pathToFileURL(trial.module).href, replacement]),
      },
    },
  )
  return new Promise((resolve) =>
    child.on('exit', (code, signal) =>
      resolve(signal !== null ? 'endless' : code === 0 ? 'survives' : 'noticed'),
    ),
  )
}
