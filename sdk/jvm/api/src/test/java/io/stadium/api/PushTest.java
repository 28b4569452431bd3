package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.stadium.rpc.Rejected;
import io.stadium.v1.DeliveryState;
import io.stadium.v1.PushReport;
import io.stadium.v1.PushStage;
import io.stadium.v1.QuietHours;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Devices and pushes of the real server. */
@Timeout(120)
class PushTest {
    private static Stadium stadium;

    @BeforeAll
    static void connect() throws Exception {
        TestServer server = TestServer.shared();
        stadium = server.connect();
        for (String app : List.of("registry", "news")) {
            assertEquals(0, server.run(
                    "app", "set", app, "--data", server.data().toString()).code());
        }
    }

    @AfterAll
    static void close() {
        if (stadium != null) {
            stadium.close();
        }
    }

    @Test
    void devicesAreRegisteredChangedAndRemoved() throws Exception {
        Devices devices = stadium.devices("registry");
        // The odd ones have one owner, who may have 200 devices on a shard.
        List<DeviceChange> changes = new ArrayList<>();
        for (int nth = 0; nth < 2_500; nth++) {
            changes.add(new DeviceChange("phone-" + nth, nth % 2 == 0
                    ? "{\"tags\": {\"add\": [\"even\"]}}" : "{\"named_user\": \"crowd\"}"));
        }
        List<Outcome<Boolean>> outcomes = devices.changeAll(changes);
        assertEquals(2_500, outcomes.size());
        long refused = outcomes.stream().filter(outcome -> !outcome.isOk()).count();
        assertTrue(outcomes.get(0).get() && refused > 0 && refused <= 1_050, "refused " + refused);
        assertThrows(Rejected.class, () -> devices.change("phone-2499", changes.get(2_499).json()));
        assertFalse(devices.change("phone-1", "{\"language\": \"de\"}"));
        assertEquals("NODE-010",
                Soon.code(() -> devices.change("phone-1", "{\"platfrom\": \"ios\"}")));
        assertEquals("de", new ObjectMapper().readTree(devices.find("phone-1").getDevice())
                .get("language").asText());
        assertEquals(1_250, devices.preview(Selector.tag("even"), 3).getMatched());
        assertEquals(1, devices.preview(Selector.and(
                Selector.language("de"), Selector.not(Selector.tag("even")),
                Selector.or(Selector.user("crowd"), Selector.devices("a\"b\\ \u00e4"))), 0)
                .getMatched());
        assertEquals("NODE-010",
                Soon.code(() -> devices.preview(Selector.ofJson("{\"tog\": \"even\"}"), 0)));
        String secret = devices.admit("phone-1");
        assertEquals(43, secret.length());
        devices.admit("phone-1", "a secret of its own");
        devices.revoke("phone-1");
        assertTrue(new ObjectMapper().readTree(devices.find("phone-1").getDevice())
                .get("revoked").asBoolean());
        devices.readmit("phone-1");
        devices.removeCredential("phone-1");
        assertTrue(devices.remove("phone-0"));
        assertFalse(devices.remove("phone-0"));
        assertEquals(2_499 - refused,
                devices.removeAll(changes.stream().map(DeviceChange::device).toList()));
        assertEquals(0, devices.removeAll(List.of()));
        assertThrows(Rejected.class, () -> devices.find("phone-1"));
    }

    @Test
    void pushesAreSentFollowedEditedAndCancelled() throws Exception {
        Devices devices = stadium.devices("news");
        Pushes pushes = stadium.pushes("news");
        for (String device : List.of("p1", "p2", "p3")) {
            devices.change(device, device.equals("p3") ? "" : "{\"tags\": [\"vip\"]}");
        }
        NewPush push = NewPush.to(Selector.tag("vip")).title("Doors open").body("Gate 4")
                .forLanguage("de", Words.of("Einlass", null)).expiry(Duration.ofHours(1))
                .priority(7).collapseKey("doors").perSecond(1_000).cap(5, Duration.ofHours(1))
                .quietHours(QuietHours.QUIET_HOURS_IGNORE).holdout(0);
        pushes.check(push);
        assertFalse(pushes.send(push).isDuplicate());
        assertEquals(new AcceptedPush(push.id(), true), pushes.send(push));
        assertThrows(Rejected.class, () -> pushes.send(push.title("Doors closed")));
        Soon.until("a device is owed it", () -> pushes.trace(push.id(), "p1").getState()
                == DeliveryState.DELIVERY_STATE_OWED);
        assertEquals(DeliveryState.DELIVERY_STATE_NOT_MATCHED,
                pushes.trace(push.id(), "p3").getState());
        PushReport report = pushes.find(push.id());
        assertEquals(PushStage.PUSH_STAGE_SENDING, report.getStage());
        assertEquals(2, report.getCounts().getTargeted());
        pushes.opened(push.id(), "p1");
        pushes.clicked(push.id(), "p1", "map");
        assertEquals(DeliveryState.DELIVERY_STATE_CLICKED,
                pushes.trace(push.id(), "p1").getState());
        pushes.cancel(push.id());
        Soon.until("it is cancelled", () -> pushes.trace(push.id(), "p2").getState()
                == DeliveryState.DELIVERY_STATE_CANCELLED);

        NewPush planned = NewPush.toDevice("p3").body("Soon").at(Instant.now().plusSeconds(3_600));
        pushes.send(planned);
        pushes.edit(planned.body("Later"));
        assertEquals("Later",
                pushes.find(planned.id()).getPush().getNotification().getWords().getBody());
        NewPush raw = NewPush.toUser("nobody").payload(new byte[] {0, 1}, "application/x")
                .userProperty("a", "b").atMostOnce().over(Duration.ofSeconds(1))
                .atLocal(LocalDateTime.now().plusDays(3));
        pushes.send(raw);
        PushReport newest = Outcome.only(pushes.list(1));
        assertEquals(raw.id(), Ids.of(newest.getPush().getId()));
        assertEquals(2, pushes.list(10, newest).size());

        pushes.schedule("daily", "0 8 * * *", NewPush.toAll().title("Good morning"));
        pushes.pause("daily");
        assertTrue(Outcome.only(pushes.schedules()).getPaused());
        pushes.resume("daily");
        pushes.unschedule("daily");
        assertTrue(pushes.schedules().isEmpty());
    }

    @Test
    void livePushesGoToDevicesAndChannels() {
        byte[] hello = "hello".getBytes(StandardCharsets.UTF_8);
        Pushes pushes = stadium.pushes();
        stadium.devices().change("live-1", "");
        for (LivePush push : List.of(
                LivePush.toDevice("live-1", hello).expiry(Duration.ofMinutes(1)),
                LivePush.toDevices(List.of("live-1", "live-2"), hello).contentType("text/plain"),
                LivePush.toChannel("goals", "1:0").userProperty("minute", "12"),
                LivePush.toEverybody(hello).atMostOnce())) {
            assertFalse(pushes.sendLive(push).isEmpty());
        }
    }

    @Test
    void wrongPushesAreRefusedBeforeTheyAreSent() {
        Pushes pushes = stadium.pushes();
        NewPush push = NewPush.toAll();
        refused(() -> pushes.send(push));
        refused(() -> push.title("x").payload(new byte[1], ""));
        refused(() -> push.payload(new byte[1], "").title("x"));
        refused(() -> push.priority(10));
        refused(() -> push.holdout(91));
        refused(() -> push.expiry(Duration.ofSeconds(-1)));
        refused(() -> pushes.list(0));
        refused(() -> stadium.devices().preview(Selector.all(), 101));
        assertThrows(Rejected.class, () -> pushes.find(UUID.randomUUID()));
        assertThrows(Rejected.class, () -> pushes.send(NewPush.toDevice("a/b").title("x")));
    }

    private static void refused(org.junit.jupiter.api.function.Executable wrong) {
        assertThrows(IllegalArgumentException.class, wrong);
    }
}
