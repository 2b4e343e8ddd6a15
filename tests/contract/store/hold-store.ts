/**
 * A second process for the tests: opens the embedded store of the directory it is given, says how that went
 * in one word, and then adds users until it cannot (`fill`), or waits to be killed (`hold`).
 */
import { StoreOpenError, StoreUnavailableError } from '#store/failure.ts'
import { openStore } from '#store/open-store.ts'
import { keyA } from './place.ts'
import { addLogin, addUser } from './rows.ts'

const [task, dataDir = ''] = process.argv.slice(2)
// Far more than the limit that the test sets for the file.
const mostUsers = 20_000

try {
  const store = await openStore({
    databaseUrl: null,
    dataDir,
    mode: 'live',
    encryptionKeys: [keyA],
  })
  console.log('open')
  if (task === 'hold') setInterval(() => {}, 1_000)
  else if (task === 'fill')
    for (let count = 0; count < mostUsers; count += 1) {
      const user = await addUser(store)
      await addLogin(store, user.id, 'x'.repeat(2_000))
      // Written only once the store has said yes.
      console.log(user.id)
    }
} catch (error) {
  if (error instanceof StoreOpenError) console.log(error.reason)
  else if (error instanceof StoreUnavailableError) console.log(`unavailable: ${error.message}`)
  else throw error
  process.exit(0)
}
