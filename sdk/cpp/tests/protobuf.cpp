// Generated messages of protobuf are messages of methods, and methods are generated too. The
// contract is that of examples/geo.
#include "check.hpp"
#include "geo.stadium.hpp"

namespace methods = geo::v1::geo;

constexpr auto store_bytes = stadium::unary<Text, Text>("geo/Store");

static_assert(stadium::ProtobufMessage<geo::v1::GeoEvent> && !stadium::ProtobufMessage<Text>);

int main() {
    stadium::Service geo(methods::name, methods::version);
    geo.descriptors(methods::file_descriptor_set);
    geo.on(methods::store, [](const geo::v1::GeoEvent& event) {
        geo::v1::StorageResponse response;
        response.set_message(event.device_id());
        return response;
    });
    geo.on(methods::near, [](const geo::v1::Circle& circle, stadium::Sender<geo::v1::GeoEvent>& out) {
        geo::v1::GeoEvent event;
        for (int nth = 0; nth < 10; nth++) {
            event.set_latitude(circle.latitude() + nth);
            out.send(event);
        }
    });
    const stadium::Server server(server_options(), geo);
    const stadium::Client client(client_options(server.port()));
    geo::v1::GeoEvent event;
    event.set_device_id("phone-1");
    const auto options = stadium::CallOptions().key("phone-1");
    CHECK(client.call(methods::store, event, options).get().message() == "phone-1");
    geo::v1::Circle circle;
    circle.set_latitude(30);
    double sum = 0;
    for (const auto& found : client.open(methods::near, circle)) {
        sum += found.latitude();
    }
    CHECK(sum == 345);
    // Bytes that are no message.
    CHECK(THROWS(stadium::Rejected, client.call(store_bytes, Text("\xff\xff")).get()).code() ==
          "RPC-004");
    google::protobuf::ShutdownProtobufLibrary();
    std::puts("protobuf: all held");
}
