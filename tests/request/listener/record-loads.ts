/** For `--import`: appends the address of each module that the process loads to the file `RECORD_LOADS`. */
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const file = process.env.RECORD_LOADS
if (file === undefined) throw new Error('RECORD_LOADS names the file')
registerHooks({
  load(url, context, next) {
    appendFileSync(file, `${url}\n`)
    return next(url, context)
  },
})
