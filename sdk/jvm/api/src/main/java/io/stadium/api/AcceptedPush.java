package io.stadium.api;

import java.util.UUID;

/**
 * A push that the server has accepted.
 *
 * @param id its id
 * @param isDuplicate the same push had been accepted before: nothing happened now
 */
public record AcceptedPush(UUID id, boolean isDuplicate) {}
