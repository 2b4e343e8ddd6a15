/**
 * The lock of an install, a folder in the clone: plain JavaScript that any Node 20 can run, for the starter.
 * It names the process that installs and npm, which may outlive it; it is free when both have ended.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const waitLimitMs = 600_000
const holders = ['pid', 'npm']

/**
 * One process installs; others started meanwhile wait for it.
 * @throws Error with a sentence when the lock cannot be made, or is not free within ten minutes.
 */
export function takeInstallLock(root, say) {
  const folder = join(root, '.tributary-installing')
  const deadline = Date.now() + waitLimitMs
  let isTold = false
  while (!make(folder)) {
    if (Date.now() > deadline)
      throw new Error(`another install holds ${folder}; remove it if none is running`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    const holder = holders.map((name) => findHolder(join(folder, name))).find((pid) => pid !== null)
    if (holder === undefined) rmSync(folder, { recursive: true, force: true })
    else if (!isTold) say(`tributary: waiting for the install of process ${holder}`)
    isTold ||= holder !== undefined
  }
  const release = () => rmSync(folder, { recursive: true, force: true })
  process.on('exit', release)
  return { release, nameNpm: (pid) => writeFileSync(join(folder, 'npm'), String(pid)) }
}

/** False when another process has it. */
function make(folder) {
  try {
    mkdirSync(folder)
    writeFileSync(join(folder, 'pid'), String(process.pid))
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    // On a full disk the folder is made and the file is not written.
    rmSync(folder, { recursive: true, force: true })
    const isForeign = ['EACCES', 'EPERM', 'EROFS'].includes(error.code)
    const advice = isForeign
      ? '; start it as a user who may write there, or in a clone of yours'
      : ''
    throw new Error(`the packages cannot be installed: ${error.message}${advice}`, { cause: error })
  }
}

/** The process that the file names while it runs: a killed install must not block the next one. */
function findHolder(file) {
  let pid = null
  try {
    pid = Number(readFileSync(file, 'utf8'))
    // An empty file names nobody; 0 would be this process's own group.
    if (!(pid > 0)) return null
    process.kill(pid, 0)
    return pid
  } catch (error) {
    return error.code === 'EPERM' ? pid : null
  }
}
