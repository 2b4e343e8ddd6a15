/** The durable store on its embedded engine. */
import { makeMigratedPlace, makeSqlitePlace } from './place.ts'
import { storeContract } from './store-contract.ts'

storeContract(
  'SQLite',
  async () => makeMigratedPlace(),
  async () => makeSqlitePlace(),
)
