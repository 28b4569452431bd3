// Methods that protoc-gen-stadium generates from contracts with everything that is hard to write
// in a language. That this compiles is the test.
#include <concepts>
#include <string_view>
#include <type_traits>

#include <stadium/service.hpp>

#include "desk/v1beta1/order-desk.stadium.hpp"
#include "import/lambda.stadium.hpp"
#include "plain.stadium.hpp"

namespace desk_v1beta1 = desk::v1beta1;
namespace order_desk = desk_v1beta1::order_desk;

template <class Request, class Answer, stadium::Interaction Kind>
using Of = const stadium::Method<Request, Answer, Kind>;
using stadium::Interaction;
using desk_v1beta1::Order;

static_assert(order_desk::name == std::string_view("order_desk"));
static_assert(order_desk::version == std::string_view("1beta1"));
static_assert(order_desk::delete_.route() == std::string_view("order_desk/Delete"));
static_assert(order_desk::version_.route() == std::string_view("order_desk/Version"));
static_assert(order_desk::name_.is_idempotent() && !order_desk::delete_.is_idempotent());
static_assert(order_desk::file_descriptor_set.find("OrderDesk") != std::string_view::npos);

static_assert(std::same_as<decltype(order_desk::delete_),
                           Of<Order, desk_v1beta1::Order_Line_Amount, Interaction::unary>>);
static_assert(std::same_as<decltype(order_desk::errno_),
                           Of<desk::parts::Amount, other::Amount, Interaction::unary>>);
static_assert(std::same_as<decltype(order_desk::ring), Of<Order, void, Interaction::one_way>>);
static_assert(
    std::same_as<decltype(order_desk::watch), Of<::Method, ::String, Interaction::stream>>);
static_assert(
    std::same_as<decltype(order_desk::http_count2), Of<Order, Order, Interaction::channel>>);
static_assert(desk_v1beta1::new_::new_.service() == "new");
static_assert(plain_::get.service() == "plain");
static_assert(lambda::lambda::run.route() == std::string_view("lambda/Run"));
