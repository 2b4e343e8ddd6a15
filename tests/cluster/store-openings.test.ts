/** What the durable store promises over several openings, on PostgreSQL. */
import { after } from 'node:test'
import { openingsContract } from '#tests/contract/store/store-contract.ts'
import { makePostgresGround } from './postgres-place.ts'

const ground = await makePostgresGround()
after(() => ground.remove())

openingsContract(
  'PostgreSQL',
  () => ground.makeMigratedPlace(),
  () => ground.makePlace(),
)
