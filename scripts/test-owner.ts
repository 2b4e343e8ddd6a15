/**
 * Loaded before node:test in a process with tests. To tell whose error it is that nobody caught, node:test
 * watches every promise of the process, which took a third of a suite's time. Here an asynchronous context
 * carries the running test instead, and the answer is the same: the test that began the work. Where the
 * runtime has left the context before it reports an error, it is the test that began last.
 */
import hooks, { AsyncLocalStorage, type AsyncResource } from 'node:async_hooks'
import { isMainThread } from 'node:worker_threads'

/** The hook of node:test: it learns which number stands for which test. */
interface Watcher {
  init(asyncId: number, type: string, triggerId: number, resource: object): void
}

/** Only a process with the tests of a file has it; the one that starts them has none. */
if (process.env.NODE_TEST_CONTEXT !== undefined && isMainThread) await carryTests()

async function carryTests(): Promise<void> {
  const { createHook, executionAsyncId } = hooks
  const running = new AsyncLocalStorage<AsyncResource>()
  let latest: AsyncResource | undefined
  let watcher: Watcher | undefined
  let isUncaught = false
  process.on('uncaughtExceptionMonitor', () => {
    isUncaught = true
  })

  // Both are read once, when node:test is loaded.
  Object.assign(hooks, {
    createHook(callbacks: Watcher) {
      watcher = callbacks
      return { enable() {}, disable() {} }
    },
    executionAsyncId() {
      const test = running.getStore() ?? (isUncaught ? latest : undefined)
      isUncaught = false
      if (test === undefined || watcher === undefined) return executionAsyncId()
      watcher.init(test.asyncId(), 'Test', 0, test)
      return test.asyncId()
    },
  })
  await import('node:test')
  Object.assign(hooks, { createHook, executionAsyncId })
  carryInScopes((test, call) => {
    latest = test
    return running.run(test, call)
  })
}

/** Tests and suites run what they are given as resources of their own. */
function carryInScopes(carry: (test: AsyncResource, call: () => unknown) => unknown): void {
  const { prototype } = hooks.AsyncResource
  const { runInAsyncScope } = prototype
  const run = function (this: AsyncResource, ...args: Parameters<typeof runInAsyncScope>): unknown {
    const [call, receiver, ...given] = args
    if (!['Test', 'Suite'].includes(this.constructor.name)) {
      return runInAsyncScope.call(this, call, receiver, ...given)
    }
    const carried = () => carry(this, () => call.apply(receiver, given))
    return runInAsyncScope.call(this, carried)
  }
  Object.assign(prototype, { runInAsyncScope: run })
}
