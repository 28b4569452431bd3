package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Receipts of the real server, checked offline; altered ones are refused. */
@Timeout(120)
class ReceiptTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String ZEROS = "0".repeat(64);

    @Test
    void aReceiptIsCheckedOfflineAndAnAlteredOneRefused(@TempDir Path folder) throws Exception {
        TestServer server = TestServer.shared();
        try (Stadium stadium = server.connect()) {
            Wallets wallets = stadium.wallets();
            wallets.declare("EUR", 2);
            wallets.open(NewAccount.of("erin", "EUR"));
            Booked paid = wallets.deposit(
                    Amount.of(4_200, "EUR"), "@bank", "erin", UUID.randomUUID());
            String json = receipt(server, paid.id());
            ObjectNode receipt = (ObjectNode) JSON.readTree(json);
            String root = receipt.get("root").asText();
            AtomicReference<List<String>> roots = new AtomicReference<>();
            Soon.until("its root is published", () -> {
                roots.set(Receipt.rootsOf(wallets.roots(0)));
                return roots.get().contains(root);
            });
            ProvedTransfer proved = Receipt.verify(json, roots.get());
            assertEquals(new ProvedTransfer(paid.id(), "post", "@bank", "erin", "EUR", 2, 4_200,
                    paid.at(), receipt.get("seal").asLong(), root), proved);
            Path file = Files.writeString(folder.resolve("receipt.json"), json);
            assertEquals(proved, Receipt.verify(file, List.of(root)));
            isRefusedInEachAlteredForm(json, root);
        }
    }

    /** A receipt that a server made, which needs no server here. */
    @Test
    void aKeptReceiptIsChecked() throws Exception {
        Path kept = Path.of("src/test/resources/receipt.json");
        String json = Files.readString(kept);
        String root = JSON.readTree(json).get("root").asText();
        ProvedTransfer proved = Receipt.verify(kept, List.of(ZEROS, root));
        assertEquals("hold EUR 2 300", proved.kind() + " " + proved.asset() + " " + proved.scale()
                + " " + proved.minorUnits());
        assertEquals("alice @shop", proved.debit() + " " + proved.credit());
        isRefusedInEachAlteredForm(json, root);
    }

    private static void isRefusedInEachAlteredForm(String json, String root) throws Exception {
        List<ObjectNode> altered = altered((ObjectNode) JSON.readTree(json));
        for (ObjectNode one : altered) {
            assertThrows(InvalidReceipt.class,
                    () -> Receipt.verify(one.toString(), root), one::toString);
        }
        assertTrue(altered.size() > 70, "altered " + altered.size());
        assertThrows(InvalidReceipt.class, () -> Receipt.verify(json, ZEROS));
        assertThrows(InvalidReceipt.class, () -> Receipt.verify(json, List.of()));
        assertThrows(IllegalArgumentException.class, () -> Receipt.verify(json, "no root"));
        for (String wrong : List.of("", "[]", "{}", "{", "null", "\ufffd", "[".repeat(100_000),
                json + "x", "{\"more\": 1," + json.strip().substring(1),
                json.replace("\"version\":1", "\"version\":18446744073709551616"),
                json.replace("\"version\":1", "\"version\":1,\"version\":1"),
                json.replace("\"version\":1", "\"version\":01"),
                json.replace("\"version\":1", "\"version\":\"1\""))) {
            assertThrows(InvalidReceipt.class, () -> Receipt.verify(wrong, root));
        }
        for (int size = 0; size < json.strip().length(); size += 13) {
            String cut = json.substring(0, size);
            assertThrows(InvalidReceipt.class, () -> Receipt.verify(cut, root));
        }
    }

    /** The receipt with one thing changed: each digit of the event, each number, each hash. */
    private static List<ObjectNode> altered(ObjectNode receipt) {
        List<ObjectNode> altered = new ArrayList<>();
        String event = receipt.at("/proofs/0/event").asText();
        for (int nth = 0; nth < event.length(); nth++) {
            int digit = Character.digit(event.charAt(nth), 16) ^ 1;
            proof(altered, receipt).put("event", event.substring(0, nth)
                    + Integer.toHexString(digit) + event.substring(nth + 1));
        }
        for (String name : List.of(
                "time", "event_index", "events", "record_index", "records", "seal")) {
            ObjectNode proof = proof(altered, receipt);
            proof.put(name, proof.get(name).asLong() + 1);
        }
        for (String name : List.of("chain_before", "root_before")) {
            proof(altered, receipt).put(name, ZEROS);
        }
        for (String name : List.of("event_path", "record_path")) {
            ((ArrayNode) proof(altered, receipt).get(name)).add(ZEROS);
        }
        altered.add(receipt.deepCopy().put("version", 2));
        ObjectNode without = receipt.deepCopy();
        without.putArray("proofs");
        altered.add(without);
        ObjectNode first = receipt.deepCopy();
        ArrayNode proofs = (ArrayNode) first.get("proofs");
        while (proofs.size() > 1) {
            proofs.remove(1);
        }
        altered.add(first);
        return altered;
    }

    private static ObjectNode proof(List<ObjectNode> altered, ObjectNode receipt) {
        ObjectNode copy = receipt.deepCopy();
        altered.add(copy);
        return (ObjectNode) copy.at("/proofs/0");
    }

    @Test
    void receiptsOfEachKindAndBetweenShardsAreRead() throws Exception {
        TestServer server = TestServer.shared();
        try (Stadium stadium = server.connect()) {
            Wallets wallets = stadium.wallets();
            wallets.declare("EUR", 2);
            // Of several names some are on other shards, where the server has more than one.
            List<String> names = List.of("shards-0", "shards-1", "shards-2", "shards-3");
            wallets.openAll(names.stream().map(name -> NewAccount.of(name, "EUR")).toList())
                    .forEach(Outcome::get);
            wallets.deposit(Amount.of(1_000, "EUR"), "@bank", names.get(0), UUID.randomUUID());
            Map<UUID, String> wanted = new LinkedHashMap<>();
            Booked hold = wallets.transfer(
                    Transfer.hold(Amount.of(70, "EUR"), Duration.ofMinutes(1))
                            .from(names.get(0)).to("@shop").reference("r").metadata(new byte[3]));
            wanted.put(hold.id(), "hold shards-0 @shop 70");
            Booked other = wallets.hold(
                    Amount.of(5, "EUR"), names.get(0), names.get(1), Duration.ofMinutes(1));
            wanted.put(wallets.voidHold(other.id()).id(), "void shards-0 shards-1 5");
            wanted.put(wallets.capture(hold.id(), 30).id(), "capture shards-0 @shop 30");
            UUID moved = null;
            for (String name : names.subList(1, 4)) {
                moved = wallets.transfer(Transfer.post(Amount.of(7, "EUR")).from(names.get(0))
                        .to(name).effective(Instant.ofEpochSecond(5))).id();
                wanted.put(moved, "post shards-0 " + name + " 7");
            }
            wanted.put(wallets.reverse(moved).id(), "reverse shards-3 shards-0 7");
            List<UUID> ids = new ArrayList<>(wanted.keySet());
            // The newest first: where it is sealed, the others are.
            for (int at = ids.size() - 1; at >= 0; at--) {
                String json = receipt(server, ids.get(at));
                ProvedTransfer proved =
                        Receipt.verify(json, JSON.readTree(json).get("root").asText());
                assertEquals(ids.get(at), proved.transfer());
                assertEquals(wanted.get(ids.get(at)), proved.kind() + " " + proved.debit() + " "
                        + proved.credit() + " " + proved.minorUnits());
            }
        }
    }

    /** The receipt, once a seal covers the transfer. */
    static String receipt(TestServer server, UUID transfer) throws Exception {
        AtomicReference<String> made = new AtomicReference<>();
        Soon.until("the transfer is sealed", () -> {
            TestServer.Printed printed = server.run(
                    "wallet", "receipt", server.data().toString(), transfer.toString());
            made.set(printed.out());
            return printed.code() == 0;
        });
        return made.get().strip();
    }
}
