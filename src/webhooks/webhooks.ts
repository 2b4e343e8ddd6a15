/**
 * Assembles the room of webhooks: the actions of users and operators on endpoints and deliveries. Doors call
 * only these actions; the composition root starts the worker and the sweeps.
 */
import {
  makeDisableEndpoint,
  makeEnableEndpoint,
  makeRemoveEndpoint,
  makeRotateEndpoint,
} from './change-endpoint.ts'
import { makeCreateEndpoint } from './create-endpoint.ts'
import type { EndpointDeps } from './endpoint-deps.ts'
import { makeReplayDelivery, makeReplayRange } from './replay.ts'
import { makeTestEndpoint } from './test-endpoint.ts'

/** What each action does stands in its file. */
export type Webhooks = ReturnType<typeof makeWebhooks>

export function makeWebhooks(deps: EndpointDeps) {
  return {
    createEndpoint: makeCreateEndpoint(deps),
    rotateEndpoint: makeRotateEndpoint(deps),
    enableEndpoint: makeEnableEndpoint(deps),
    disableEndpoint: makeDisableEndpoint(deps),
    removeEndpoint: makeRemoveEndpoint(deps),
    testEndpoint: makeTestEndpoint(deps),
    replayDelivery: makeReplayDelivery(deps),
    replayRange: makeReplayRange(deps),
  }
}
