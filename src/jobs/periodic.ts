/**
 * The one loop of all background work: run, wait with jitter, run again. Runs of one task never overlap,
 * every run is reported, and the caller that starts a task stops it: `stop` aborts the run's signal and waits
 * until the run has ended.
 */

/** Receives the result of every run; the composition root turns it into metrics and log lines. */
export interface JobReport {
  done(task: string): void
  /** The task runs again regardless. */
  failed(task: string, error: unknown): void
}

export interface PeriodicTask {
  /** Its label in metrics and log lines, e.g. `oauth-sweep`. */
  readonly name: string
  /** The longest wait between two runs, in milliseconds. */
  readonly everyMs: number
  /** The wait after a failed run, which `wake` does not shorten; absent: the wait after any run. */
  readonly restMs?: number
  /** `after_wait`: for a task that has nothing to do right after the start. */
  readonly firstRun: 'at_once' | 'after_wait'
  run(stop: AbortSignal): Promise<void>
}

export interface Periodic {
  /** Ends the wait: the task runs at once, or again when the current run has ended. */
  wake(): void
  /** Prevents further runs; resolves when the current one has ended. */
  stop(): Promise<void>
}

/** Each wait is shortened by up to this share, so that processes started together do not run in step. */
const jitter = 0.1

/** Starts the loop. `random` returns numbers from 0 up to 1. */
export function startPeriodic(
  task: PeriodicTask,
  report: JobReport,
  random: () => number = Math.random,
): Periodic {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | null = null
  let current: Promise<void> = Promise.resolve()
  let isRunning = false
  let isWoken = false
  let isResting = false

  async function run(): Promise<void> {
    isRunning = true
    isWoken = false
    isResting = false
    try {
      await task.run(stopping.signal)
      report.done(task.name)
    } catch (error) {
      report.failed(task.name, error)
      // After a failure the task waits before the next run, because the cause would most likely persist.
      isWoken = false
      isResting = task.restMs !== undefined
    }
    isRunning = false
    if (isWoken && !stopping.signal.aborted) begin()
    else wait()
  }
  function wait(): void {
    if (stopping.signal.aborted) return
    const waitMs = isResting && task.restMs !== undefined ? task.restMs : task.everyMs
    timer = setTimeout(begin, waitMs * (1 - jitter * random()))
    timer.unref()
  }
  function begin(): void {
    timer = null
    current = run()
  }

  if (task.firstRun === 'at_once') begin()
  else wait()
  return {
    wake() {
      if (isRunning) isWoken = true
      else if (timer !== null && !isResting) {
        clearTimeout(timer)
        begin()
      }
    },
    async stop() {
      stopping.abort(new Error('this process is stopping'))
      if (timer !== null) clearTimeout(timer)
      timer = null
      await current
    },
  }
}
